import { sqlClient } from '../drivers/internal'
import { Attempt, dialects, SqlLockProvider, type DialectName, type LockTableOptions } from '../sql/internal'
import { readUrl, type CliDriver, type DriverConnection } from './drivers/driver'
import { mssqlDriver } from './drivers/mssql-driver'
import { mysqlDriver } from './drivers/mysql-driver'
import { oracleDriver } from './drivers/oracle-driver'
import { postgresDriver } from './drivers/postgres-driver'
import { sqliteDriver, sqliteFile } from './drivers/sqlite-driver'
import { CommandError, databaseFailure, hideUrl, wrongUsage } from './command-error'
import { oneLine } from './output'

/** Maps the scheme of a URL to its database. */
const SCHEMES: Readonly<Record<string, { dialect: DialectName; driver: CliDriver }>> = {
  postgres: { dialect: 'postgres', driver: postgresDriver },
  postgresql: { dialect: 'postgres', driver: postgresDriver },
  cockroachdb: { dialect: 'cockroachdb', driver: postgresDriver },
  mysql: { dialect: 'mysql', driver: mysqlDriver },
  mariadb: { dialect: 'mariadb', driver: mysqlDriver },
  file: { dialect: 'sqlite', driver: sqliteDriver },
  sqlite: { dialect: 'sqlite', driver: sqliteDriver },
  sqlserver: { dialect: 'mssql', driver: mssqlDriver },
  mssql: { dialect: 'mssql', driver: mssqlDriver },
  oracle: { dialect: 'oracle', driver: oracleDriver },
}

/** Connects with a driver of the user's project. */
export async function connectUrl(url: string, options: LockTableOptions, create = false) {
  hideUrl(url)
  const scheme = /^([a-z0-9+]+):/i.exec(url)?.[1]?.toLowerCase() ?? ''
  const known = SCHEMES[scheme]
  // Do not repeat how the URL begins: it may be a password.
  if (!known)
    throw wrongUsage(
      `The URL does not begin with a known scheme – known are ${Object.keys(SCHEMES).join(', ')}.`,
    )
  const { dialect: name, driver } = known
  if (name !== 'sqlite' && name !== 'mssql') readUrl(url)
  const { address, schema } =
    name === 'postgres' || name === 'cockroachdb'
      ? postgresUrl(url, scheme)
      : { address: url, schema: undefined }
  const open = async (): Promise<DriverConnection> => {
    try {
      return await driver.open(address, create)
    } catch (error) {
      if (error instanceof CommandError) throw error
      throw databaseFailure(`The connection to the database failed: ${oneLine(error)}`)
    }
  }
  const names = { ...(schema === undefined ? {} : { schema }), ...options }
  const connection = new LiveConnection(open, driver.errorCode)
  const client = sqlClient(driver, (text, values) => connection.query(text, values))
  // Create the provider before connecting, because it validates the names.
  const provider = new SqlLockProvider(client, dialects[name], names)
  await connection.open()
  return {
    dialect: dialects[name],
    provider,
    server: serverOf(url, name),
    names,
    attempt: new Attempt(client, dialects[name]),
    openSession: async () => {
      const session = await open()
      const ofSession = sqlClient(driver, (text, values) => session.query(text, values))
      const attempt = new Attempt(ofSession, dialects[name])
      return { query: attempt.query.bind(attempt), close: () => session.close() }
    },
    close: () => connection.close(),
  }
}

/**
 * Keeps one connection, and replaces it when it breaks: `exec` may release its lock hours after acquiring it. Statements run one at a
 * time, so if the previous one has not been answered when the next one starts, its wait has timed out and the connection counts as
 * dead.
 */
class LiveConnection {
  #current: Promise<DriverConnection> | undefined
  #isBusy = false

  constructor(
    private readonly connect: () => Promise<DriverConnection>,
    private readonly errorCode: CliDriver['errorCode'],
  ) {}

  open(): Promise<DriverConnection> {
    if (this.#isBusy) this.#drop()
    return (this.#current ??= this.connect())
  }

  async query(text: string, values: readonly (string | number | null)[]) {
    const opened = this.open()
    this.#isBusy = true
    try {
      const connection = await opened
      return await connection.query(text, values)
    } catch (error) {
      if (opened === this.#current && this.errorCode(error as object) === undefined) this.#drop()
      throw error
    } finally {
      if (opened === this.#current) this.#isBusy = false
    }
  }

  async close(): Promise<void> {
    await (await this.#current)?.close()
  }

  #drop(): void {
    const dropped = this.#current
    this.#current = undefined
    this.#isBusy = false
    dropped?.then((connection) => connection.close()).catch(() => undefined)
  }
}

/** Removes Prisma's own parameters from a URL, because pg would take some of them for its own, and returns `schema` separately. */
function postgresUrl(url: string, scheme: string): { address: string; schema: string | undefined } {
  const address = new URL(url.replace(`${scheme}:`, 'postgres:'))
  const schema = address.searchParams.get('schema') ?? undefined
  for (const parameter of ['schema', 'pgbouncer', 'connection_limit', 'pool_timeout', 'connect_timeout']) {
    address.searchParams.delete(parameter)
  }
  return { address: address.href, schema }
}

/** The host and its port, or the file, without user and password. */
function serverOf(url: string, dialect: DialectName): string {
  if (dialect === 'sqlite') return sqliteFile(url)
  const [, authority = ''] = /^[^:]*:\/\/([^/;?#]*)/.exec(url) ?? []
  const [, socket = ''] = /[?&]host=([^&]*)/.exec(url) ?? []
  return authority.replace(/^.*@/, '') || decodeURIComponent(socket) || "the driver's default host"
}
