import { invalidClient, type LockError } from '../core/internal'
import { drivers, sqlExecutor, type StatementResult } from '../drivers/internal'
import {
  checkWritable,
  DriverError,
  isReadOnly,
  type Attempt,
  type Dialect,
  type DialectName,
  type SqlExecutor,
  type SqlRow,
} from '../sql/internal'
import type { DataSourceLike, QueryRunnerLike } from './data-source-like'
import { destroyConnection, dropConnection, endPgClient, replicated, untilAbandoned } from './lent-connection'
import { namedStatements, preparedStatement, runPlain, type RunStatement } from './run-statement'

/** Runs one statement on a query runner, and on the driver's own connection under it. */
type Work = (queryRunner: QueryRunnerLike, connection: object) => Promise<StatementResult>

/** Lends a query runner for one statement. */
export type UseQueryRunner = (work: Work, attempt?: Attempt) => Promise<StatementResult>

/** @returns `INVALID_CLIENT` before `initialize()` and after `destroy()`, because TypeORM's own errors would not say what to do */
export function notInitialised({ isInitialized }: DataSourceLike): LockError | undefined {
  if (isInitialized) return undefined
  return invalidClient(
    'The DataSource is not initialised, or was destroyed – await dataSource.initialize() before the first lock, and stop the jobs before destroy().',
  )
}

/** @throws LockError `INVALID_CLIENT` before `initialize()` and after `destroy()` */
export function checkInitialised(dataSource: DataSourceLike): void {
  const error = notInitialised(dataSource)
  if (error) throw error
}

/**
 * A query runner of its own for each statement: autocommit on a pooled connection. Not `dataSource.query()`, which drops
 * the count of changed rows, and joins the ambient transaction under typeorm-transactional.
 */
export function ownQueryRunner(
  dataSource: DataSourceLike,
  { name, readOnlyErrors }: Dialect,
): UseQueryRunner {
  return async (work, attempt) => {
    checkInitialised(dataSource)
    // A replica would answer with yesterday's row.
    const queryRunner = dataSource.createQueryRunner('master')
    let connection: object | undefined
    const end = (): void => {
      if (connection) DISCARD[name]?.(connection)
    }
    try {
      const lent = (connection = await connect(queryRunner, name))
      const run = () => untilAbandoned(() => work(queryRunner, lent), attempt, end)
      const result = name === 'postgres' ? await replicated(lent, run) : await run()
      checkWritable(result.rows)
      return result
    } catch (error) {
      // The pool would lend it again and again, and no job would run before the process starts anew.
      if (isReadOnly(codeOf(error, name), readOnlyErrors)) end()
      throw error
    } finally {
      // A connection that broke cannot be returned to the pool either; the first error is the one to report.
      await queryRunner.release().catch(() => undefined)
    }
  }
}

/** The query runner of a transaction, which ends by itself. */
export function givenQueryRunner(queryRunner: QueryRunnerLike, dialect: DialectName): UseQueryRunner {
  return async (work) => work(queryRunner, await connect(queryRunner, dialect))
}

/** Before its own query does it, which would not say what failed. SQL Server's connects only then. */
async function connect(queryRunner: QueryRunnerLike, dialect: DialectName): Promise<object> {
  try {
    return (await queryRunner.connect()) ?? {}
  } catch (error) {
    throw new DriverError(drivers[dialect].errorCode(error as object), error, false)
  }
}

/** The server's code for an error. TypeORM wraps the driver's. */
function codeOf(error: unknown, dialect: DialectName): string | undefined {
  return error instanceof DriverError ? error.code : drivers[dialect].errorCode(unwrapped(error as object))
}

function unwrapped(error: { driverError?: object }): object {
  return error.driverError ?? error
}

/** @param named prepares the statements about one lock by name; not for a transaction, which a refused name would abort */
export function queryRunnerSqlExecutor(
  use: UseQueryRunner,
  dialect: DialectName,
  named = false,
): SqlExecutor {
  const { placeholder, inAscii, errorCode, notSent } = drivers[dialect]
  const driver = {
    placeholder,
    inAscii,
    errorCode: (error: object) => errorCode(unwrapped(error)),
    notSent: (error: object) => notSent(unwrapped(error)),
  }
  const run = RUN_STATEMENT[dialect] ?? runPlain
  const runNamed = named ? namedStatements() : run
  return sqlExecutor(driver, (text, values, { parameters }, _, attempt) =>
    use(async (queryRunner, connection) => {
      const statement = { queryRunner, connection, text, values, parameters: parameters.length }
      const { records, affected } = await (parameters.includes('name') ? runNamed : run)(statement)
      return { rows: (records ?? []) as SqlRow[], changed: affected }
    }, attempt),
  )
}

/** Where a statement is not run by the query runner's own `query`. */
const RUN_STATEMENT: Readonly<Partial<Record<DialectName, RunStatement>>> = {
  mysql: preparedStatement,
  mariadb: preparedStatement,
  // All that does not begin with SELECT gets a transaction, and its locks.
  spanner: ({ text, ...statement }) => runPlain({ ...statement, text: text.replace(/^select /, 'SELECT ') }),
}

/** How to end a connection, so that its pool makes a new one. SQL Server's clients lend none. */
const DISCARD: Readonly<Partial<Record<DialectName, (connection: object) => void>>> = {
  postgres: endPgClient,
  cockroachdb: endPgClient,
  mysql: destroyConnection,
  mariadb: destroyConnection,
  oracle: dropConnection,
}
