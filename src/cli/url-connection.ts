import { sqlClient } from '../drivers/internal'
import { dialects, SqlLockProvider, type DialectName, type LockTableOptions } from '../sql/internal'
import { loadDriver, readUrl, type CliDriver, type DriverConnection } from './drivers/driver'
import { libsqlDriver } from './drivers/libsql-driver'
import { mssqlDriver } from './drivers/mssql-driver'
import { mysqlDriver } from './drivers/mysql-driver'
import { postgresDriver } from './drivers/postgres-driver'
import { sqliteDriver } from './drivers/sqlite-driver'
import { CommandError, hideUrl, notConnected, wrongUsage } from './command-error'
import { oneLine } from './output'
import type { Project } from './project'

/** Maps the scheme of a URL to its database. */
const SCHEMES: Readonly<Record<string, { dialect: DialectName; driver: CliDriver }>> = {
  postgres: { dialect: 'postgres', driver: postgresDriver },
  postgresql: { dialect: 'postgres', driver: postgresDriver },
  cockroachdb: { dialect: 'cockroachdb', driver: postgresDriver },
  mysql: { dialect: 'mysql', driver: mysqlDriver },
  mariadb: { dialect: 'mariadb', driver: mysqlDriver },
  file: { dialect: 'sqlite', driver: sqliteDriver },
  sqlite: { dialect: 'sqlite', driver: sqliteDriver },
  libsql: { dialect: 'sqlite', driver: libsqlDriver },
  sqlserver: { dialect: 'mssql', driver: mssqlDriver },
  mssql: { dialect: 'mssql', driver: mssqlDriver },
}

/** The package to install for a database; `undefined` if the project has one, or names one that is yet to be installed. */
export function missingDriver(project: Project, scheme: string): string | undefined {
  const { packages = [], via = [] } = SCHEMES[scheme]?.driver ?? {}
  const isNamed = [...packages, ...via].some((name) => project.has(name))
  const [missing] = isNamed || project.find(packages, via) ? [] : packages
  // The next version runs only on Node.js 22 or later.
  return missing === 'better-sqlite3' ? `${missing}@12` : missing
}

/** Connects with a driver of the user's project. */
export async function connectUrl(url: string, options: LockTableOptions, create = false) {
  hideUrl(url)
  const scheme = /^([a-z0-9+]+):/i.exec(url)?.[1]?.toLowerCase() ?? ''
  const known = SCHEMES[scheme]
  if (scheme === 'prisma+postgres')
    throw wrongUsage(
      "A URL prisma+postgres:// is that of a proxy, which only Prisma's own client can use – set the database's own, postgres://….",
    )
  // Do not repeat how the URL begins: it may be a password.
  if (!known)
    throw wrongUsage(
      `The URL does not begin with a known scheme – known are ${Object.keys(SCHEMES).join(', ')}.`,
    )
  const { dialect: name, driver } = known
  const { address, schema } =
    driver === postgresDriver ? postgresUrl(url, scheme) : { address: url, schema: undefined }
  const open = () => driver.open(address, create)
  // Connections that have answered so far. `exec` may use one hours later, when it has died.
  const idle: DriverConnection[] = []
  const client = sqlClient(driver, {
    server: driver === sqliteDriver ? undefined : serverOf(url),
    connect: async () => {
      const connection = idle.pop() ?? (await open())
      let isBroken = false
      return {
        run: (...statement) =>
          connection.run(...statement).catch((error: unknown) => {
            isBroken = driver.errorCode(error as object) === undefined
            throw error
          }),
        // Another file may take the place of SQLite's.
        release: () => (isBroken || driver === sqliteDriver ? connection.close() : idle.push(connection)),
        end: () => connection.close(),
      }
    },
  })
  // Create the provider before connecting, because it validates the names.
  const provider = new SqlLockProvider(client, dialects[name], { schema, ...options })
  try {
    // Before the first call, which would repeat it: a wrong URL is reported at once.
    idle.push(await open())
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw notConnected(oneLine(error), driver === sqliteDriver)
  }
  return {
    provider,
    through: [loadDriver(driver).name, idle[0]?.tls].filter((part) => part !== undefined).join(', '),
    close: () => Promise.all(idle.map((connection) => connection.close())),
  }
}

/** The URL as pg reads it, and the schema, which is a parameter of Prisma's that pg ignores. */
function postgresUrl(url: string, scheme: string): { address: string; schema: string | undefined } {
  // Beside a user a URL needs a host, but pg uses the parameter: `postgres://user@/db?host=/var/run/postgresql`.
  const withHost = url.replace(/^([^/]*\/\/[^/?#]*@)(?=\/[^?#]*\?([^#]*&)?host=)/, '$1localhost')
  const address = readUrl(withHost.replace(`${scheme}:`, 'postgres:'))
  return { address: address.href, schema: address.searchParams.get('schema') ?? undefined }
}

/** The host and its port, without user and password. */
function serverOf(url: string): string {
  const [, authority = ''] = /^[^:]*:\/\/([^/;?#]*)/.exec(url) ?? []
  const [, socket = ''] = /[?&]host=([^&]*)/.exec(url) ?? []
  return authority.replace(/^.*@/, '') || decodeURIComponent(socket) || "the driver's default host"
}
