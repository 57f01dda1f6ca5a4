import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import {
  DriverError,
  JOINED_TRANSACTION,
  mysqlLiteral,
  type SqlRow,
  type StatementResult,
} from '../sql/internal'
import { opened } from './own-connection'
import type { DriverSession, RunStatement } from './sql-client'
import { nameOn, type Preparation } from './statement-names'

// Everything that is special about mysql2.

type MySqlResult = SqlRow[] | { readonly affectedRows: number; readonly serverStatus?: number }

/** https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html */
const SERVER_STATUS_IN_TRANS = 1
const SERVER_STATUS_AUTOCOMMIT = 2

/** Takes a callback, because mysql2's promise API captures a stack trace on each call, which doubles the cost. */
type Send = (
  statement: string | { readonly sql: string; readonly typeCast: typeof asTyped },
  values: unknown[],
  callback: (error: Error | null, result: MySqlResult) => void,
) => unknown

/** What this library uses of a mysql2 connection. The older mysql driver has no `execute`. */
export interface MySqlConnectionLike {
  readonly execute?: Send
  readonly query?: Send
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

/** Opens a session on a connection beside a pool, with the settings of that pool. */
export async function openMySqlConnection(
  { Connection }: Mysql2Like,
  pool: MySqlPoolLike | undefined,
  preparation: Preparation,
): Promise<DriverSession> {
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
  const close = () => connection.end?.()
  const end = endMySqlConnection.bind(undefined, connection)
  const session = await opened(connection, connect, { wire: connection, close, end })
  return { ...session, run: runOnMySql.bind(undefined, connection, preparation) }
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
 * Runs a statement that is prepared on the server, where its values are bound. With mysql2's `query` the driver writes them into the text
 * and escapes quotes with backslashes, so under `sql_mode` NO_BACKSLASH_ESCAPES a lock's name could inject SQL. If the connection has
 * no room for another prepared statement, if the text already contains a literal, or once a statement could not be prepared, all
 * values become literals.
 */
export async function runOnMySql(
  connection: object,
  preparation: Preparation,
  ...[text, values, { parameters }]: Parameters<RunStatement>
): ReturnType<RunStatement> {
  const client = connection as MySqlConnectionLike
  const isPrepared =
    preparation.isOn &&
    parameters.length === values.length &&
    client.execute !== undefined &&
    nameOn(client, text) !== undefined
  try {
    return isPrepared
      ? await send(client, 'execute', text, values)
      : await send(client, 'query', withValues(text, values), [])
  } catch (error) {
    throw preparation.errorOf(error)
  }
}

/** Writes the values into the text as literals that every session reads alike. */
export function withValues(text: string, values: readonly unknown[]): string {
  // A question mark in a quoted name is not a placeholder.
  let position = 0
  return text.replace(/`[^`]*`|\?/g, (part) => (part === '?' ? literal(values[position++]) : part))
}

function send(
  connection: MySqlConnectionLike,
  method: 'execute' | 'query',
  text: string,
  values: unknown[],
): Promise<StatementResult> {
  return new Promise((resolve, reject) => {
    const answer = (error: Error | null, result: MySqlResult): void => {
      if (error) reject(error)
      else if (Array.isArray(result)) resolve({ rows: result })
      else if (isInTransaction(result.serverStatus))
        reject(new DriverError(JOINED_TRANSACTION, 'the connection has an open transaction'))
      else resolve({ rows: [], changed: result.affectedRows })
    }
    const { typeCast = true } = connection.config ?? {}
    // How the app reads its own values must not change what a lock reads. But options cost a fifth of a statement's time.
    const statement = typeCast === true ? text : { sql: text, typeCast: asTyped }
    connection[method]?.(statement, values, answer)
  })
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
