import { createHash } from 'node:crypto'
import { warn } from '../core/internal'
import { DriverError, NOT_PREPARED } from '../sql/internal'

// Prepared statements: their names, and what happens when a server or a pooler refuses one.

/** Prepares the statements of one client of the app, until one cannot be prepared: from then on, all of them are sent unprepared. */
export class Preparation {
  constructor(public isOn: boolean) {}

  /** @returns what to throw for the error of a statement; `NOT_PREPARED`: it was not executed, and is sent again */
  errorOf(error: unknown): unknown {
    if (!isNotPrepared(error)) return error
    if (this.isOn)
      warn(
        `shedlock-orm sends its statements unprepared from now on, because one could not be prepared: ${(error as Error).message} – they work, but take longer. Behind a pooler of PostgreSQL, set namedStatements: false.`,
      )
    this.isOn = false
    return new DriverError(NOT_PREPARED, error)
  }
}

/**
 * How many of the lock's statements one connection keeps prepared; the others run unprepared. One table has about ten, but an app
 * may have a table for each tenant, and all connections share a limit, or the memory, of the server.
 */
export const MOST_PREPARED = 40

/** The names of the statements that a connection keeps, by their SQL. All providers on it share them, so that their number is limited for all tables. */
const namesOn = new WeakMap<object, Map<string, string>>()

/**
 * Returns the name under which PostgreSQL keeps a prepared statement. It is a hash of the SQL, so that no two statements share a
 * name. None is ever removed, because the server still has it.
 *
 * @returns `undefined` for a new statement if there are enough already
 */
export function nameOn(connection: object, text: string): string | undefined {
  const names = namesOn.get(connection) ?? new Map<string, string>()
  namesOn.set(connection, names)
  const known = names.get(text)
  if (known !== undefined || names.size >= MOST_PREPARED) return known
  const name = `shedlock_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  names.set(text, name)
  return name
}

/** invalid_sql_statement_name, duplicate_prepared_statement */
const POSTGRES_NAMES: readonly unknown[] = ['26000', '42P05']
/**
 * MySQL and MariaDB: unknown handler, not supported in the protocol, max_prepared_stmt_count reached, must be prepared again.
 * https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
 */
const MYSQL_STATEMENTS: readonly unknown[] = [1243, 1295, 1461, 1615]

/**
 * Returns whether a statement failed because it could not be prepared: the server does not know its name, already has one of that
 * name, has no room for it, or had planned it for a table that has changed since; or a pooler or the client itself refused it. All
 * of them report this before anything is executed.
 */
export function isNotPrepared(error: unknown): boolean {
  const { severity, code, errno, routine, message } = error as Record<string, unknown>
  if (POSTGRES_NAMES.includes(code) || MYSQL_STATEMENTS.includes(errno)) return true
  // The message, "cached plan must not change result type", is in the server's language.
  if (code === '0A000') return routine === 'RevalidateCachedQuery'
  // pg's own error has no code, and a pooler's is that of any protocol violation: PgBouncer ends the connection with it.
  return (
    (severity === undefined ? code === undefined : code === '08P01') &&
    /prepared statement/i.test(String(message))
  )
}
