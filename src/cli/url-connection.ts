import { sqlExecutor } from '../drivers'
import { dialects, SqlLockProvider, type LockTableOptions, type SqlExecutor } from '../sql'
import type { Connection, Session } from './connection'
import { readUrl } from './read-url'
import { SCHEMES, type CliDriver, type DriverConnection } from './drivers'
import { CommandError, ExitCode } from './exit-code'
import { oneLine } from './output'
import { hideUrl } from './secrets'

/** Connects with a driver of the user's project. */
export async function connectUrl(
  url: string,
  options: LockTableOptions,
  create = false,
): Promise<Connection> {
  hideUrl(url)
  const scheme = /^([a-z0-9+]+):/i.exec(url)?.[1]?.toLowerCase() ?? ''
  const known = SCHEMES[scheme]
  if (!known) {
    throw new CommandError(
      ExitCode.usage,
      `A URL begins with ${Object.keys(SCHEMES).join(', ')} – '${scheme}' is none of them.`,
    )
  }
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
      throw new CommandError(ExitCode.database, `There is no connection to the database: ${oneLine(error)}`)
    }
  }
  const names = { ...(schema === undefined ? {} : { schema }), ...options }
  // Names are checked before the first connection.
  let connection: DriverConnection | undefined
  const provider = new SqlLockProvider(
    executor(driver, {
      get: async () => (connection ??= await open()),
      drop: () => {
        connection?.close().catch(() => undefined)
        connection = undefined
      },
    }),
    dialects[name],
    names,
  )
  connection = await open()
  return {
    dialect: dialects[name],
    provider,
    openSession: async () => session(await open()),
    close: async () => {
      await connection?.close()
    },
  }
}

/** A connection that broke is opened anew: `exec` frees its lock hours after it took it. */
interface Reconnecting {
  get(): Promise<DriverConnection>
  drop(): void
}

function executor(driver: CliDriver, reconnecting: Reconnecting): SqlExecutor {
  return sqlExecutor(driver, async (text, values) => {
    const connection = await reconnecting.get()
    try {
      return await connection.query(text, values)
    } catch (error) {
      if (driver.errorCode(error as object) === undefined) reconnecting.drop()
      throw error
    }
  })
}

function session(connection: DriverConnection): Session {
  return { query: async (text) => (await connection.query(text, [])).rows, close: () => connection.close() }
}

/** Prisma's URLs have parameters of its own, `schema` among them; pg would take some of them for its own. */
function postgresUrl(url: string, scheme: string): { address: string; schema: string | undefined } {
  const address = new URL(url.replace(`${scheme}:`, 'postgres:'))
  const schema = address.searchParams.get('schema') ?? undefined
  for (const parameter of ['schema', 'pgbouncer', 'connection_limit', 'pool_timeout', 'connect_timeout']) {
    address.searchParams.delete(parameter)
  }
  return { address: address.href, schema }
}
