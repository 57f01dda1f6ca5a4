import { createHash } from 'node:crypto'
import { LockError } from '../core/internal'
import {
  checkWritable,
  DriverError,
  type Attempt,
  render,
  type SqlRow,
  type SqlExecutor,
  type Sql,
  type SqlValues,
} from '../sql/internal'
import type { Driver } from './drivers'

/** What a client returns for one statement. */
export interface StatementResult {
  /** The rows that it read; empty if there were none. */
  readonly rows: readonly SqlRow[]
  /**
   * How many rows it changed; `null` or `undefined` if the client does not report it. If a lock depends on this number, its absence
   * is a `LockError` `INVALID_CLIENT`.
   */
  readonly changed: number | bigint | null | undefined
}

type Bound = string | number | null
const ASCII = /^[\x20-\x7E]*$/

/**
 * Creates the `SqlExecutor` that a `SqlLockProvider` needs, for a client on top of one of the drivers.
 *
 * ```ts
 * const executor = sqlExecutor(drivers.postgres, async (text, values) => {
 *   const { rows, rowCount } = await pool.query(text, values)
 *   return { rows, changed: rowCount }
 * })
 * const provider = new SqlLockProvider(executor, dialects.postgres)
 * ```
 *
 * @param run runs one statement once: in autocommit, on a connection that no transaction of the app uses, with its values bound and
 *   not written into the SQL. It must reject with the driver's own error. `statement` is the statement before it was rendered;
 *   `wants` is the part of the result that is used; set `attempt.onAbandoned` to a function that ends the connection
 */
export function sqlExecutor(
  driver: Driver,
  run: (
    text: string,
    values: Bound[],
    statement: Sql,
    wants: keyof StatementResult,
    attempt?: Attempt,
  ) => Promise<StatementResult>,
): SqlExecutor {
  const { placeholder, errorCode, notSent } = driver
  // Render each statement only once: a table's statements are created once, and used for every lock.
  const texts = new WeakMap<Sql, string>()
  const answer = async (
    statement: Sql,
    values: SqlValues,
    wants: keyof StatementResult,
    attempt?: Attempt,
  ): Promise<StatementResult> => {
    const text = texts.get(statement) ?? render(statement, placeholder)
    texts.set(statement, text)
    const bound = statement.parameters.map((name) => values[name] ?? null)
    try {
      return areAscii(bound)
        ? await run(text, bound, statement, wants, attempt)
        : await run(...inAsciiAlone(driver, statement, bound), statement, wants, attempt)
    } catch (error) {
      if (error instanceof DriverError || error instanceof LockError) throw error
      throw new DriverError(errorCode(error as object), error, !notSent(error as object))
    }
  }
  return {
    execute: async (statement, values, attempt) =>
      Number((await answer(statement, values, 'changed', attempt)).changed ?? NaN),
    query: async (statement, values, attempt) => {
      // mssql returns no rows for a batch without a result.
      const { rows = [] } = (await answer(statement, values, 'rows', attempt)) as Partial<StatementResult>
      checkWritable(rows)
      return rows.map(withoutBytes)
    },
  }
}

/** A loop, because it runs for every statement. */
function areAscii(values: readonly Bound[]): boolean {
  for (const value of values) if (typeof value === 'string' && !ASCII.test(value)) return false
  return true
}

/** Returns the SQL of a statement and the values to bind, for a driver that writes some strings in ASCII. */
function inAsciiAlone(
  { placeholder, inAscii }: Driver,
  statement: Sql,
  bound: readonly Bound[],
): [text: string, values: Bound[]] {
  const values: Bound[] = []
  const text = render(statement, (position) => {
    const value = bound[position] ?? null
    const plain = { sql: placeholder(position), value }
    const written =
      typeof value === 'string' && !ASCII.test(value) ? (inAscii?.(value, plain.sql) ?? plain) : plain
    if (written.value !== undefined) values.push(written.value)
    return written.sql
  })
  return [text, values]
}

/** Turns bytes into strings, because a session of MySQL returns bytes after `set names binary`. A lock reads no other bytes. */
function withoutBytes(row: SqlRow): SqlRow {
  if (!Object.values(row).some((value) => ArrayBuffer.isView(value))) return row
  const read = (value: unknown): unknown =>
    ArrayBuffer.isView(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
      : value
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, read(value)]))
}

/**
 * How many of the lock's statements one connection keeps prepared; the others run unprepared. One table has about ten, but an app
 * may have a table for each tenant, and all connections share a limit, or the memory, of the server.
 */
export const MOST_PREPARED = 40

/**
 * Returns the name under which PostgreSQL keeps a prepared statement. It is a hash of the SQL, so that no two statements share a
 * name.
 *
 * @param names by the SQL, of one connection or of several; none is removed, because the server still has it
 * @returns `undefined` for a new statement if there are enough already
 */
export function nameAmong(names: Map<string, string>, text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= MOST_PREPARED) return known
  const name = `shedlock_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  names.set(text, name)
  return name
}

/** Our own code for a refused name, because the server's codes for it have other meanings too. */
export const NAME_REFUSED = 'NAME_REFUSED'

/** invalid_sql_statement_name, duplicate_prepared_statement */
const ABOUT_NAMES = ['26000', '42P05']

/**
 * Returns whether a statement failed because the server does not know its name, already has one of that name, or had planned it for
 * a table that has changed since. The server reports all of these before it executes anything.
 */
export function isNameRefused(error: unknown): boolean {
  const { severity, code, routine, message } = (error ?? {}) as Record<string, unknown>
  if (severity === undefined) return false
  if (ABOUT_NAMES.includes(String(code))) return true
  // The message, "cached plan must not change result type", is in the server's language.
  if (code === '0A000') return routine === 'RevalidateCachedQuery'
  // Poolers word the message differently; PgBouncer ends the connection with its code for any protocol violation.
  return code === '08P01' && /prepared statement/i.test(String(message))
}
