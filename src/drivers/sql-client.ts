import { LockError } from '../core/internal'
import {
  DriverError,
  render,
  type Driver,
  type Sql,
  type SqlClient,
  type SqlSession,
  type StatementResult,
} from '../sql/internal'
import { readSockets } from './own-connection'

type Bound = string | number | null
/**
 * Printable ASCII, which every session reads alike. Without quotes and backslashes, because with a text protocol the driver
 * escapes them, and its escapes mean something else in some modes.
 */
const PLAIN = /^[ !#-&(-[\]-~]*$/

/**
 * Runs one statement once: in autocommit, on a connection that no transaction of the app uses, with its values bound and not written
 * into the SQL. Rejects with the driver's own error.
 *
 * @param statement the statement before it was rendered
 * @param wants the part of the result that is used
 */
export type RunStatement = (
  text: string,
  values: Bound[],
  statement: Sql,
  wants: keyof StatementResult,
) => Promise<StatementResult>

/** A client whose sessions are connections of its own; see `SqlClient`. */
export interface DriverClient extends Omit<SqlClient, 'connect' | 'open'> {
  /** Opens a session: one connection of the driver; see `SqlSession`. */
  connect(): Promise<DriverSession>
  /** The same for a connection beside the client's own pool; see `SqlClient`. */
  open?: (() => Promise<DriverSession>) | undefined
}

/** A session of a driver: a `SqlSession` that runs rendered statements. */
export type DriverSession = Omit<SqlSession, 'execute'> & { readonly run: RunStatement }

/**
 * Creates the `SqlClient` that a `SqlLockProvider` needs, for a client on top of one of the drivers.
 *
 * ```ts
 * const client = sqlClient(drivers.postgres, async (text, values) => {
 *   const { rows, rowCount } = await pool.query(text, values)
 *   return { rows, changed: rowCount }
 * })
 * const provider = new SqlLockProvider(client, dialects.postgres)
 * ```
 *
 * @param client a function that runs one statement; or, so that a connection that gives no answer can be closed, a function
 *   `connect` that opens sessions. What `connect` throws proves that nothing was sent
 */
export function sqlClient(driver: Driver, client: RunStatement | DriverClient): SqlClient {
  const texts = new WeakMap<Sql, string>()
  if (typeof client === 'function') {
    const session = renderingSession(driver, texts, { run: client })
    return { connect: () => Promise.resolve(session) }
  }
  const connecting = (connect: () => Promise<DriverSession>) => async () => {
    const unusable = client.unusable?.()
    if (unusable) throw unusable
    try {
      return renderingSession(driver, texts, await connect())
    } catch (error) {
      throw asDriverError(driver, error, false)
    }
  }
  return {
    connect: connecting(() => readSockets().then(() => client.connect())),
    open: client.open && connecting(client.open.bind(client)),
    keepsOne: client.keepsOne,
    source: client.source?.bind(client),
    pool: client.pool,
    server: client.server,
    schema: client.schema?.bind(client),
    unusable: client.unusable?.bind(client),
    dropReadOnly: client.dropReadOnly?.bind(client),
  }
}

/**
 * Renders statements for a session of a driver, and converts its errors.
 *
 * @param texts each statement rendered once: a table's statements are created once, and used for every lock
 */
function renderingSession(driver: Driver, texts: WeakMap<Sql, string>, session: DriverSession): SqlSession {
  const execute: SqlSession['execute'] = async (statement, values, wants) => {
    const text = texts.get(statement) ?? rendered(driver, statement, driver.placeholder)
    texts.set(statement, text)
    const bound: Bound[] = []
    let arePlain = true
    // A loop, because it runs for every statement.
    for (const name of statement.parameters) {
      const value = values[name] ?? null
      bound.push(value)
      if (!PLAIN.test(String(value))) arePlain = false
    }
    try {
      const result = arePlain
        ? await session.run(text, bound, statement, wants)
        : await session.run(...withLiterals(driver, statement, bound), statement, wants)
      if (wants === 'changed') return result
      // mssql returns no rows for a batch without a result.
      const { rows = [] } = result as Partial<StatementResult>
      return { rows: driver.read ? rows.map(driver.read) : rows }
    } catch (error) {
      throw asDriverError(driver, error, true)
    }
  }
  return {
    execute,
    release: session.release?.bind(session),
    end: session.end?.bind(session),
    rest: session.rest?.bind(session),
    wake: session.wake?.bind(session),
  }
}

function rendered(
  { settled = (text) => text }: Driver,
  statement: Sql,
  placeholder: Driver['placeholder'],
): string {
  return settled(render(statement, placeholder))
}

/** @param sent whether the statement may have been sent: otherwise there was no connection for it */
function asDriverError(
  { errorCode, notSent, lasts }: Driver,
  error: unknown,
  sent: boolean,
): DriverError | LockError {
  if (error instanceof DriverError || error instanceof LockError) return error
  const cause = error as object
  return new DriverError(errorCode(cause), error, sent && !notSent(cause), lasts(cause))
}

/** Returns the SQL of a statement and the values to bind, for a driver that writes some strings in ASCII. */
function withLiterals(
  driver: Driver,
  statement: Sql,
  bound: readonly Bound[],
): [text: string, values: Bound[]] {
  const { placeholder, inAscii } = driver
  const values: Bound[] = []
  const text = rendered(driver, statement, (position) => {
    const value = bound[position] ?? null
    const plain = { sql: placeholder(position), value }
    const written = PLAIN.test(String(value)) ? plain : (inAscii?.(String(value), plain.sql) ?? plain)
    if (written.value !== undefined) values.push(written.value)
    return written.sql
  })
  return [text, values]
}
