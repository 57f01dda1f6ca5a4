import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../backends/free-port'
import { clockOf } from '../fake-time'
import { DataDirectory } from '../servers/data-directory'
import { initializePostgres, runPostgres, startPostgres } from '../servers/postgres-programs'
import { ServerProcess } from '../servers/server-process'
import { askPostgres, heldRowsOf, inPostgres, POSTGRES_SCHEMA, versionOfPostgres } from './ask-postgres'
import type { HeldRow, Pair } from './cluster'
import { startPair, type PairNode, type PairOptions } from './pair'
import { until } from './until'

/** One PostgreSQL server, which is a primary or replicates from one. */
export class PostgresNode implements PairNode {
  readonly #directory = new DataDirectory(600)
  readonly #data = join(this.#directory.path, 'data')
  readonly #server: ServerProcess
  #clock: string | undefined

  private constructor(
    readonly port: number,
    followed: number,
  ) {
    const settings = {
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.#directory.path,
      max_connections: 150,
      max_wal_size: '64MB',
      primary_conninfo: `host=127.0.0.1 port=${followed} user=postgres application_name=standby`,
      // A standby that was cut off reconnects quickly.
      wal_receiver_status_interval: '1s',
      wal_receiver_timeout: '2s',
      wal_sender_timeout: '2s',
      wal_retrieve_retry_interval: '200ms',
    }
    const spawn = () => startPostgres(this.#data, settings, clockOf(this.#clock))
    this.#server = new ServerProcess(spawn, () => this.execute('select 1'))
  }

  /** @param followed the port at which a standby finds the primary */
  static async at(followed: number): Promise<PostgresNode> {
    return new PostgresNode(await freePort(), followed)
  }

  start(): Promise<void> {
    return this.#server.start()
  }

  async startAsPrimary(): Promise<void> {
    await initializePostgres(this.#data)
    await this.start()
    await this.execute(...POSTGRES_SCHEMA)
  }

  version(): Promise<string> {
    return versionOfPostgres(this.port)
  }

  heldRows(): Promise<HeldRow[]> {
    return heldRowsOf(this.port)
  }

  /** Starts as a standby with a copy of the primary's data. @param clock the error of its clock, such as `+2s` */
  async startAsCopy(primary: PostgresNode, clock?: string): Promise<void> {
    await this.kill()
    rmSync(this.#data, { recursive: true, force: true })
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
    await runPostgres('pg_basebackup', [...from, '-D', this.#data, '-c', 'fast', '-X', 'stream'])
    await this.#startAsStandby(clock)
  }

  follow(): Promise<void> {
    return this.#startAsStandby()
  }

  async #startAsStandby(clock?: string): Promise<void> {
    this.#clock = clock
    writeFileSync(join(this.#data, 'standby.signal'), '')
    await this.#server.start()
  }

  async promote(): Promise<void> {
    // Reset this before the server accepts writes: its first write would wait for a synchronous standby that does not exist.
    await this.execute(
      'alter system reset synchronous_standby_names',
      'select pg_reload_conf()',
      'select pg_promote(true)',
    )
    await until('promoted', async () => (await this.#read('pg_is_in_recovery()')) === false)
  }

  /** Sets whether commits wait for the standby. */
  async synchronous(on: boolean): Promise<void> {
    await this.execute(
      `alter system set synchronous_standby_names = '${on ? '*' : ''}'`,
      'select pg_reload_conf()',
    )
    if (!on) return
    await until(
      'the standby is synchronous',
      async () =>
        (await this.#read("(select sync_state from pg_stat_replication where state = 'streaming')")) ===
        'sync',
    )
    // When the standby has acknowledged this row, it also has everything that was committed before.
    await this.execute('insert into synchronous default values')
  }

  async isFollowed(): Promise<boolean> {
    return (await this.#read('(select state from pg_stat_replication)')) === 'streaming'
  }

  async execute(...statements: string[]): Promise<void> {
    await askPostgres(this.port, ...statements)
  }

  inSession(work: (run: (statement: string) => Promise<unknown>) => Promise<void>): Promise<void> {
    return inPostgres(this.port, (client) => work((statement) => client.query(statement)))
  }

  /** @returns the rows of the last statement */
  query(statements: readonly string[]): Promise<Record<string, unknown>[]> {
    return askPostgres(this.port, ...statements)
  }

  async #read(expression: string): Promise<unknown> {
    const [row] = await askPostgres(this.port, `select ${expression} as value`)
    return row?.['value']
  }

  kill(): Promise<void> {
    return this.#server.stop('SIGKILL')
  }

  /** Shuts the server down. A clean shutdown waits until the standby has everything. */
  stepDown(): Promise<void> {
    return this.#server.stop('SIGINT')
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
}

/** Starts a pair with streaming replication. */
export function postgresPair(options?: PairOptions): Promise<Pair> {
  const synchronous = "synchronous_standby_names = '*'"
  return startPair('postgres', synchronous, (followed) => PostgresNode.at(followed), options)
}
