import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { DriverError, JOINED_TRANSACTION, mysqlLiteral, type SqlRow } from '../sql/internal'
import { opened, type OpenConnection } from './own-connection'
import type { RunStatement } from './sql-client'

// Everything that is special about mysql2.

type MySqlResult = SqlRow[] | { readonly affectedRows: number; readonly serverStatus?: number }

/** https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html */
const SERVER_STATUS_IN_TRANS = 1
const SERVER_STATUS_AUTOCOMMIT = 2

/** What this library uses of a mysql2 connection. */
export interface MySqlConnectionLike {
  /** Takes a callback, because mysql2's promise API captures a stack trace on each call, which doubles the cost. */
  query?(
    statement: string | { readonly sql: string; readonly typeCast: typeof asTyped },
    values: unknown[],
    callback: (error: Error | null, result: MySqlResult) => void,
  ): unknown
  connect(callback: (error: Error | null) => void): void
  on?(event: 'error' | 'end', listener: () => void): unknown
  end?(): void
  destroy?(): void
  readonly stream?: Partial<Socket>
  readonly config?: { readonly typeCast?: unknown }
}

/** What this library uses of the module mysql2, and of its pools. */
export interface Mysql2Like {
  readonly Connection?: (new (options: { readonly config: object }) => MySqlConnectionLike) & {
    readonly prototype: { readonly execute?: unknown }
  }
}
export interface MySqlPoolLike {
  readonly config?: { readonly connectionConfig?: object }
}

/** Opens a connection beside a pool, with the settings of that pool. */
export function openMySqlConnection(
  { Connection }: Mysql2Like,
  pool: MySqlPoolLike | undefined,
): Promise<OpenConnection<MySqlConnectionLike>> {
  const settings = pool?.config?.connectionConfig
  if (!Connection?.prototype.execute || !settings)
    throw new DriverError(undefined, 'this pool is not one of mysql2', false, true)
  // As its own pool copies them, because a connection changes them.
  const config = Object.create(
    Object.getPrototypeOf(settings) as object,
    Object.getOwnPropertyDescriptors(settings),
  ) as object
  const connection = new Connection({ config })
  const connect = promisify((done: (error: Error | null) => void): void => {
    connection.connect(done)
  })
  return opened(connection, connect, {
    wire: connection,
    close: () => connection.end?.(),
    end: () => {
      endMySqlConnection(connection)
    },
  })
}

/** Whether this is a connection of mysql2, or of the older mysql. */
export const isMySqlConnection = (connection: object): boolean =>
  (connection as MySqlConnectionLike).query !== undefined

export function endMySqlConnection(connection: object): void {
  const client = connection as MySqlConnectionLike
  client.destroy?.()
  // That only ends the stream, for which a silent host would keep the process alive.
  client.stream?.destroy?.()
}

/**
 * Runs a statement whose values are literals. With values of its own, mysql2's `query` escapes quotes with backslashes, so under `sql_mode`
 * NO_BACKSLASH_ESCAPES a lock's name could inject SQL. A prepared statement costs another round trip on each new connection, and few locks
 * use a connection twice.
 */
export function runOnMySql(
  connection: object,
  ...[text, values]: Parameters<RunStatement>
): ReturnType<RunStatement> {
  const client = connection as MySqlConnectionLike
  return new Promise((resolve, reject) => {
    const answer = (error: Error | null, result: MySqlResult): void => {
      if (error) reject(error)
      else if (Array.isArray(result)) resolve({ rows: result })
      else if (isInTransaction(result.serverStatus))
        reject(new DriverError(JOINED_TRANSACTION, 'the connection has an open transaction'))
      else resolve({ rows: [], changed: result.affectedRows })
    }
    const { typeCast = true } = client.config ?? {}
    const sql = withValues(text, values)
    // How the app reads its own values must not change what a lock reads. But options cost a fifth of a statement's time.
    client.query?.(typeCast === true ? sql : { sql, typeCast: asTyped }, [], answer)
  })
}

/** Writes the values into the text as literals that every session reads alike. */
export function withValues(text: string, values: readonly unknown[]): string {
  // A question mark in a quoted name is not a placeholder.
  let position = 0
  return text.replace(/`[^`]*`|\?/g, (part) => (part === '?' ? literal(values[position++]) : part))
}

/** Without autocommit every session is in one, and a lock sees that itself. */
function isInTransaction(status = 0): boolean {
  return (status & SERVER_STATUS_IN_TRANS) !== 0 && (status & SERVER_STATUS_AUTOCOMMIT) !== 0
}

/** Reads a value by the type of its column. Only a function overrides one that the app has given to the pool. */
function asTyped(_field: unknown, next: () => unknown): unknown {
  return next()
}

function literal(value: unknown): string {
  return typeof value === 'string' ? mysqlLiteral(value) : String(value)
}
