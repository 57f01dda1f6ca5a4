import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { APP, createLockTable, DatabaseServer, type Run } from './database-server'
import { inFolder, type ServerProgram } from './mysql-programs'
import { runAs, startAs } from '../../test/backends/server-process'

/** One server of the MySQL family. */
export class MySqlServer extends DatabaseServer {
  readonly readOnly = [['set global read_only = 1'], ['set global read_only = 0']] as const
  readonly socket = join(this.directory.path, 'socket')
  readonly #empty = join(this.directory.path, 'empty')

  /** @param options used at each start */
  constructor(
    private readonly program: ServerProgram,
    port: number,
    megabytes: number,
    private readonly options: readonly string[],
  ) {
    super(port, megabytes)
  }

  protected spawn(more: readonly string[], environment: NodeJS.ProcessEnv) {
    const { program, port, directory } = this
    const common = [
      ...program.options,
      ...inFolder(this.data),
      `--socket=${this.socket}`,
      `--port=${port}`,
      `--server-id=${port}`,
      `--pid-file=${join(directory.path, 'pid')}`,
      `--log-error=${join(directory.path, 'log')}`,
      '--max-connections=300',
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--innodb-buffer-pool-size=64M',
    ]
    return startAs(program.user, program.command, [...common, ...this.options, ...more], environment)
  }

  /** @param statements to execute in addition to those that create the lock table */
  async create(statements: readonly string[] = []): Promise<void> {
    await this.program.initialize(this.data)
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
  }

  /** Prepares the initial data of one of several servers: creates it, or copies that of the first server. */
  protected async initialize(
    first: MySqlServer | undefined,
    statements: readonly string[] = [],
  ): Promise<void> {
    if (first) {
      await this.#copy(first.#empty, this.#empty)
      return
    }
    await this.create(statements)
    await this.stop('SIGTERM')
    await this.#copy(this.data, this.#empty)
  }

  /** Starts the server on its initial data, without any locks. */
  async startEmpty(clock?: string): Promise<void> {
    await this.kill()
    rmSync(this.data, { recursive: true, force: true })
    await this.#copy(this.#empty, this.data)
    await this.start(clock)
  }

  async heldBy(): Promise<string[]> {
    const held = `select locked_by from ${APP}.shedlock where lock_until > utc_timestamp(3)`
    return (await this.execute(held)).map((row) => String(row['locked_by']))
  }

  async version(): Promise<string> {
    return `${this.program.dialect === 'mysql' ? 'MySQL' : 'MariaDB'} ${String(await this.read('version()'))}`
  }

  async status(name: string): Promise<unknown> {
    const [row] = await this.execute(`show global status like '${name}'`)
    return row?.['Value']
  }

  async inSession<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const connection = await createConnection({ socketPath: this.socket, user: 'root' })
    connection.on('error', () => undefined)
    try {
      return await work(async (statement) => (await connection.query<RowDataPacket[]>(statement))[0])
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
