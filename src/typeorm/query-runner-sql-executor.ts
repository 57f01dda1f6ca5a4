import { invalidClient } from '../core'
import { drivers, isNameRefused, NAME_REFUSED, nameAmong, sqlExecutor } from '../drivers'
import { DriverError, type DialectName, type Row, type SqlExecutor } from '../sql'
import type { DataSourceLike, QueryRunnerLike } from './data-source-like'

/** Lends a query runner for one statement. */
export type UseQueryRunner = <T>(work: (queryRunner: QueryRunnerLike) => Promise<T>) => Promise<T>

/**
 * TypeORM's own errors would not say what to do.
 *
 * @throws LockError `INVALID_CLIENT` before `initialize()` and after `destroy()`
 */
export function checkInitialised({ isInitialized }: DataSourceLike): void {
  if (isInitialized) return
  throw invalidClient(
    'The DataSource is not initialised, or was destroyed – await dataSource.initialize() before the first lock, and stop the jobs before destroy().',
  )
}

/**
 * A query runner of its own for each statement: autocommit on a pooled connection. Not `dataSource.query()`, which drops
 * the count of changed rows, and joins the ambient transaction under typeorm-transactional.
 */
export function ownQueryRunner(dataSource: DataSourceLike): UseQueryRunner {
  return async (work) => {
    checkInitialised(dataSource)
    // A replica would answer with yesterday's row.
    const queryRunner = dataSource.createQueryRunner('master')
    try {
      return await work(queryRunner)
    } finally {
      // A connection that broke cannot be returned to the pool either; the first error is the one to report.
      await queryRunner.release().catch(() => undefined)
    }
  }
}

/** @param named prepares the statements about one lock by name; not for a transaction, which a refused name would abort */
export function queryRunnerSqlExecutor(
  use: UseQueryRunner,
  dialect: DialectName,
  named = false,
): SqlExecutor {
  const { placeholder, errorCode, notSent } = drivers[dialect]
  // TypeORM wraps the driver's error.
  const unwrapped = (error: { driverError?: object }) => error.driverError ?? error
  const driver = {
    placeholder,
    errorCode: (error: object) => errorCode(unwrapped(error)),
    notSent: (error: object) => notSent(unwrapped(error)),
  }
  const run = RUN_STATEMENT[dialect] ?? runPlain
  const runNamed = named ? namedStatements() : run
  return sqlExecutor(driver, (text, values, { parameters }) =>
    use(async (queryRunner) => {
      // Before its own query does it, which would not tell what failed. SQL Server's connects only then.
      await queryRunner.connect().catch((error: unknown) => {
        throw new DriverError(errorCode(error as object), error, false)
      })
      const runIt = parameters.includes('name') ? runNamed : run
      const { records, affected } = await runIt(queryRunner, text, values)
      return { rows: records as Row[], changed: affected }
    }),
  )
}

/** Runs one statement on the connection of a query runner. */
type RunStatement = (
  queryRunner: QueryRunnerLike,
  text: string,
  values: unknown[],
) => ReturnType<QueryRunnerLike['query']>

/** Where a statement is not run by the query runner's own `query`. */
const RUN_STATEMENT: Readonly<Partial<Record<DialectName, RunStatement>>> = {
  mysql: runPrepared,
  mariadb: runPrepared,
  // All that does not begin with SELECT gets a transaction, and its locks.
  spanner: (queryRunner, text, values) => runPlain(queryRunner, text.replace(/^select /, 'SELECT '), values),
}

/** By TypeORM's own `query`. */
export const runPlain: RunStatement = async (queryRunner, text, values) => {
  if (!queryRunner.updateDDL || !/^(create|drop) /.test(text)) return queryRunner.query(text, values, true)
  await queryRunner.updateDDL(text)
  return { records: [] }
}

/** The prepared statements of each connection: all providers on it share them, however many tables they have. */
const preparedOn = new WeakMap<object, Map<string, string>>()

/** @returns `undefined` when the connection keeps enough */
function nameOn(connection: object, text: string): string | undefined {
  const names = preparedOn.get(connection) ?? new Map<string, string>()
  preparedOn.set(connection, names)
  return nameAmong(names, text)
}

export function dataSourceOf({ dataSource, connection }: QueryRunnerLike): DataSourceLike | undefined {
  return dataSource ?? connection
}

/** TypeORM's logger hears of a statement that goes past its `query`, too. */
async function logged<T>(
  queryRunner: QueryRunnerLike,
  text: string,
  values: unknown[],
  run: () => Promise<T>,
): Promise<T> {
  const logger = dataSourceOf(queryRunner)?.logger
  logger?.logQuery(text, values)
  try {
    return await run()
  } catch (error) {
    // A refused name is no failure: the statement runs again without.
    if (!isNameRefused(error)) logger?.logQueryError(error as Error, text, values)
    throw error
  }
}

/** What this library uses of a client of pg. What else may be under a query runner knows no names. */
interface PgClientLike {
  readonly connection?: { readonly parsedStatements?: object }
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{
    rows: unknown[]
    rowCount: number | null
  }>
  end(): Promise<void>
}

/**
 * Runs statements that PostgreSQL keeps by name: it plans each of them once for a connection, and planning is most of what a
 * refused lock costs. Poolers that hand connections around lose names, so one that is refused is the last: it was not
 * executed, and the lock sends it again.
 */
function namedStatements(): RunStatement {
  let refused = false

  const refuse = (client: PgClientLike, queryRunner: QueryRunnerLike, { message }: Error): void => {
    // PgBouncer is about to close it, and the pool would hand it out again until then.
    client.end().catch(() => undefined)
    if (refused) return
    refused = true
    dataSourceOf(queryRunner)?.logger?.log(
      'warn',
      `shedlock-orm sends its statements without names from now on, because a name was refused: ${message} – behind a pooler set namedStatements: false.`,
    )
  }

  return async (queryRunner, text, values) => {
    const client = (await queryRunner.connect()) as PgClientLike
    const name = !refused && client.connection?.parsedStatements ? nameOn(client, text) : undefined
    if (name === undefined) return runPlain(queryRunner, text, values)
    try {
      const run = () => client.query({ name, text, values })
      const { rows, rowCount } = await logged(queryRunner, text, values, run)
      return { records: rows, affected: rowCount ?? undefined }
    } catch (error) {
      if (!isNameRefused(error)) throw error
      refuse(client, queryRunner, error as Error)
      throw new DriverError(NAME_REFUSED, error)
    }
  }
}

/** What this library uses of a connection of mysql2, and of the old mysql, which cannot prepare. */
interface MySqlConnectionLike {
  promise?(): {
    execute(text: string, values: unknown[]): Promise<[unknown[] | { affectedRows: number }, unknown]>
  }
  query?: unknown
}

/**
 * Runs a statement that is prepared on the server, so that values are bound there. TypeORM's own `query` has the driver
 * write them into the text, with quotes escaped by backslashes: under `sql_mode` NO_BACKSLASH_ESCAPES a lock's name would
 * be SQL. One for which the connection has no room is sent with literals: preparing it would take a round trip each time.
 */
async function runPrepared(...[queryRunner, text, values]: Parameters<RunStatement>) {
  const connection = (await queryRunner.connect()) as MySqlConnectionLike
  const mysql2 = connection.promise?.()
  if (mysql2 && nameOn(connection, text) !== undefined) {
    const [result] = await logged(queryRunner, text, values, () => mysql2.execute(text, values))
    return Array.isArray(result) ? { records: result } : { records: [], affected: result.affectedRows }
  }
  // Aurora's Data API has no connection, and binds.
  if (!connection.query) return runPlain(queryRunner, text, values)
  // Placeholders are outside of quoted names.
  let position = 0
  const fill = (part: string): string => (part === '?' ? literal(values[position++]) : part)
  return queryRunner.query(text.replace(/`[^`]*`|\?/g, fill), undefined, true)
}

/** A text becomes a hexadecimal literal, which no mode misreads. */
function literal(value: unknown): string {
  return typeof value === 'string' ? `_utf8mb4 x'${Buffer.from(value).toString('hex')}'` : String(value)
}
