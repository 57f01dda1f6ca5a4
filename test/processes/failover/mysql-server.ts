import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { clockOf } from '../fake-time'
import { DataDirectory } from '../servers/data-directory'
import { inFolder, type ServerProgram } from '../servers/mysql-programs'
import { runAs, ServerProcess, startAs } from '../servers/server-process'
import { APP, createLockTable, type HeldRow } from './cluster'

/** One server of the MySQL family, with the lock table and its user. */
export class MySqlServer {
  readonly #directory = new DataDirectory(1_500)
  protected readonly data = join(this.#directory.path, 'data')
  readonly #empty = join(this.#directory.path, 'empty')
  readonly #socket = join(this.#directory.path, 'socket')
  readonly #server: ServerProcess
  #more: readonly string[] = []
  #clock: string | undefined

  /** @param options used at each start */
  protected constructor(
    private readonly program: ServerProgram,
    readonly port: number,
    options: readonly string[],
  ) {
    const common = [
      ...program.options,
      ...inFolder(this.data),
      `--socket=${this.#socket}`,
      `--port=${port}`,
      `--server-id=${port}`,
      `--pid-file=${join(this.#directory.path, 'pid')}`,
      `--log-error=${join(this.#directory.path, 'log')}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--innodb-buffer-pool-size=64M',
    ]
    const spawn = () =>
      startAs(program.user, program.command, [...common, ...options, ...this.#more], clockOf(this.#clock))
    this.#server = new ServerProcess(spawn, () => this.execute('select 1'))
  }

  /**
   * Creates a data directory, or copies the initial one of the first server.
   *
   * @param statements to execute in addition to those that create the lock table
   */
  protected async initialize(
    first: MySqlServer | undefined,
    statements: readonly string[] = [],
  ): Promise<void> {
    if (first) {
      await this.#copy(first.#empty, this.#empty)
      return
    }
    await this.program.initialize(this.#empty)
    await this.#copy(this.#empty, this.data)
    await this.start()
    await this.execute(
      'set sql_log_bin = 0',
      `create database ${APP}`,
      `use ${APP}`,
      'create table synchronous (id int primary key auto_increment)',
      ...createLockTable(this.program.dialect),
      `create user ${APP}@'%'`,
      `grant select, insert, update on ${APP}.* to ${APP}@'%'`,
      ...statements,
    )
    await this.#server.stop('SIGTERM')
    rmSync(this.#empty, { recursive: true })
    await this.#copy(this.data, this.#empty)
  }

  /** Starts the server on its present data. */
  async start({
    more = [],
    clock,
  }: { more?: readonly string[]; clock?: string | undefined } = {}): Promise<void> {
    this.#more = more
    this.#clock = clock
    await this.#server.start()
  }

  /** Starts the server on its initial data, without any locks. */
  async startEmpty(how?: Parameters<MySqlServer['start']>[0]): Promise<void> {
    await this.kill()
    rmSync(this.data, { recursive: true, force: true })
    await this.#copy(this.#empty, this.data)
    await this.start(how)
  }

  async heldRows(): Promise<HeldRow[]> {
    const held = `select name, locked_by from ${APP}.shedlock where lock_until > utc_timestamp(3)`
    return (await this.query(held)).map((row) => ({
      name: String(row['name']),
      lockedBy: String(row['locked_by']),
    }))
  }

  async execute(...statements: string[]): Promise<void> {
    await this.connected(async (connection) => {
      for (const statement of statements) await connection.query(statement)
    })
  }

  inSession(work: (run: (statement: string) => Promise<unknown>) => Promise<void>): Promise<void> {
    return this.connected((connection) => work((statement) => connection.query(statement)))
  }

  query(statement: string): Promise<RowDataPacket[]> {
    return this.connected(async (connection) => (await connection.query<RowDataPacket[]>(statement))[0])
  }

  async read(expression: string): Promise<unknown> {
    const [row] = await this.query(`select ${expression} as value`)
    return row?.['value']
  }

  async status(name: string): Promise<unknown> {
    const [row] = await this.query(`show global status like '${name}'`)
    return row?.['Value']
  }

  /** Shuts the server down cleanly. */
  shutDown(): Promise<void> {
    return this.#server.stop('SIGTERM')
  }

  kill(): Promise<void> {
    return this.#server.stop('SIGKILL')
  }

  freeze(): void {
    this.#server.freeze()
  }

  thaw(): void {
    this.#server.thaw()
  }

  async close(): Promise<void> {
    this.thaw()
    await this.kill()
    this.#directory.remove()
  }

  protected async connected<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await createConnection({ socketPath: this.#socket, user: 'root' })
    connection.on('error', () => undefined)
    try {
      return await work(connection)
    } finally {
      await connection.end().catch(() => undefined)
    }
  }

  /** Copies a data directory as the server's own user. */
  async #copy(from: string, to: string): Promise<void> {
    await runAs(this.program.user, 'cp', ['-a', from, to])
    // Contains the id of the server that created the directory, which must not be copied.
    rmSync(join(to, 'auto.cnf'), { force: true })
  }
}
