import { mysqlLiteral, nameAmong } from '../drivers/internal'
import { DriverError, JOINED_TRANSACTION, type SqlRow, type StatementResult } from '../sql/internal'
import { Preparation, runText, type DriverConnection } from './run-statement'

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
interface MySqlConnectionLike {
  readonly execute?: Send
  readonly query?: Send
  destroy?(): void
  readonly stream?: { destroy?(): unknown }
  readonly config?: { readonly typeCast?: unknown }
}

/**
 * Runs statements that are prepared on the server, where their values are bound. With TypeORM's own `query` the driver writes them
 * into the text and escapes quotes with backslashes, so under `sql_mode` NO_BACKSLASH_ESCAPES a lock's name could inject SQL. If the
 * connection has no room for another prepared statement, if the text already contains a literal, or once a statement could not be
 * prepared, all values become literals.
 *
 * @param isGiven the query runner is the caller's, whose transaction expects errors of TypeORM: values are literals then, too
 */
export function mysqlConnection(isGiven: boolean): DriverConnection {
  const preparation = new Preparation(
    !isGiven,
    (reason) =>
      `shedlock-orm sends its statements unprepared from now on, because one could not be prepared: ${reason} – they work, but take longer.`,
  )
  return {
    // TypeORM reads it from the options, or from its first connection.
    schema: (driver) => (driver as { readonly database?: string }).database,
    end(connection) {
      const client = connection as MySqlConnectionLike
      client.destroy?.()
      // That only ends the stream, for which a silent host would keep the process alive.
      client.stream?.destroy?.()
    },
    run(on, text, values, { parameters }) {
      const connection = on.connection as MySqlConnectionLike
      const isBound = parameters.length === values.length
      if (
        preparation.isOn &&
        isBound &&
        connection.execute &&
        nameAmong(statementsOn(connection), text) !== undefined
      )
        return preparation.run(on, text, values, () => send(connection, 'execute', text, values))
      // Aurora's Data API has no connection, and binds the values itself.
      if (!connection.query) return runText(on.queryRunner, text, values)
      // A question mark in a quoted name is not a placeholder.
      let position = 0
      const fill = (part: string): string => (part === '?' ? literal(values[position++]) : part)
      const filled = text.replace(/`[^`]*`|\?/g, fill)
      if (isGiven) return runText(on.queryRunner, filled)
      return preparation.run(on, filled, [], () => send(connection, 'query', filled, []))
    },
  }
}

/** The prepared statements of each connection: all providers on it share them, so that their number is limited for all tables. */
const preparedOn = new WeakMap<object, Map<string, string>>()

function statementsOn(connection: object): Map<string, string> {
  const names = preparedOn.get(connection) ?? new Map<string, string>()
  preparedOn.set(connection, names)
  return names
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
