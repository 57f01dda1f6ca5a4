import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { APP, createLockTable, DatabaseServer, runAll, type Run } from './database-server'
import { runAs, startAs } from '../../test/backends/server-process'

/** The user that runs PostgreSQL if the harness runs as root, because PostgreSQL refuses to. */
export const POSTGRES_USER = 'postgres'

/** Debian installs each version's programs in a folder of its own, which is not on the path. */
const FOLDER = '/usr/lib/postgresql'
const versions = existsSync(FOLDER) ? readdirSync(FOLDER).sort((a, b) => Number(a) - Number(b)) : []
const newest = versions.at(-1)
/** The folder with the programs of the newest installed version. */
export const POSTGRES_BINARIES = newest === undefined ? undefined : join(FOLDER, newest, 'bin')
export const hasPostgres = POSTGRES_BINARIES !== undefined

const program = (name: string): string =>
  POSTGRES_BINARIES === undefined ? name : join(POSTGRES_BINARIES, name)

/** Runs one of PostgreSQL's programs to its end. */
export function runPostgres(name: string, args: readonly string[]): Promise<string> {
  return runAs(POSTGRES_USER, program(name), args)
}

/** Does some work in a session of the superuser. */
async function inPostgres<T>(port: number, work: (run: Run) => Promise<T>): Promise<T> {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(async (statement) => (await client.query<Record<string, unknown>>(statement)).rows)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Executes statements as the superuser. @returns the rows of the last one */
export function askPostgres(port: number, ...statements: string[]): Promise<Record<string, unknown>[]> {
  return inPostgres(port, (run) => runAll(run, statements))
}

/** The statements that create the lock table and the workers' user. */
export const POSTGRES_SCHEMA: readonly string[] = [
  'create table synchronous (id serial primary key)',
  ...createLockTable('postgres'),
  `create role ${APP} login`,
  `grant select, insert, update on shedlock to ${APP}`,
]

/** Returns the owners of the rows that are held now. */
export async function heldInPostgres(port: number): Promise<string[]> {
  const held = "select locked_by from shedlock where lock_until > clock_timestamp() at time zone 'UTC'"
  return (await askPostgres(port, held)).map((row) => String(row['locked_by']))
}

export async function versionOfPostgres(port: number): Promise<string> {
  const [row] = await askPostgres(port, "select current_setting('server_version') as version")
  return `PostgreSQL ${String(row?.['version'])}`
}

export class PostgresServer extends DatabaseServer {
  readonly readOnly = [
    [
      'alter system set default_transaction_read_only = on',
      'select pg_reload_conf()',
      // All sessions have read the setting after a moment.
      'select pg_sleep(0.2)',
    ],
    ['alter system reset default_transaction_read_only', 'select pg_reload_conf()'],
  ] as const

  constructor(
    port: number,
    megabytes: number,
    private readonly settings: Readonly<Record<string, string | number>> = {},
  ) {
    super(port, megabytes)
  }

  protected spawn(_: readonly string[], environment: NodeJS.ProcessEnv) {
    const settings = {
      port: this.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.directory.path,
      max_connections: 150,
      max_wal_size: '16MB',
      timezone: 'America/New_York',
      ...this.settings,
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    return startAs(POSTGRES_USER, program('postgres'), ['-D', this.data, ...options], environment)
  }

  async create(): Promise<void> {
    await runPostgres('initdb', ['-D', this.data, '-U', 'postgres', '-A', 'trust', '--wal-segsize=1'])
    await this.start()
    await this.execute(...POSTGRES_SCHEMA)
  }

  inSession<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return inPostgres(this.port, work)
  }

  version(): Promise<string> {
    return versionOfPostgres(this.port)
  }

  heldBy(): Promise<string[]> {
    return heldInPostgres(this.port)
  }
}
