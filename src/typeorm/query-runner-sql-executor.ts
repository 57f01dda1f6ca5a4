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
import {
  destroyConnection,
  dropConnection,
  endPgClient,
  untilAbandoned,
  watchReplication,
} from './lent-connection'
import { namedStatements, preparedStatement, runPlain, type RunStatement } from './run-statement'

/** Runs one statement on a query runner or on the driver's connection that it wraps. */
type Work = (queryRunner: QueryRunnerLike, connection: object) => Promise<StatementResult>

/** Lends a query runner for one statement. */
export type UseQueryRunner = (work: Work, attempt?: Attempt) => Promise<StatementResult>

/** @returns `INVALID_CLIENT` before `initialize()` and after `destroy()`, because TypeORM's own errors do not say what to do */
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
 * Creates a query runner for each statement, so that it runs in autocommit on a pooled connection. `dataSource.query()` is
 * unsuitable, because it drops the number of changed rows and joins the ambient transaction of typeorm-transactional.
 */
export function ownQueryRunner(
  dataSource: DataSourceLike,
  { name, readOnlyErrors }: Dialect,
): UseQueryRunner {
  return async (work, attempt) => {
    checkInitialised(dataSource)
    // A replica may return a stale row.
    const queryRunner = dataSource.createQueryRunner('master')
    let connection: object | undefined
    const end = (): void => {
      if (connection) DISCARD[name]?.(connection)
    }
    try {
      const lent = (connection = await connect(queryRunner, name))
      const checkReplicated = name === 'postgres' ? watchReplication(lent) : undefined
      const result = await untilAbandoned(() => work(queryRunner, lent), attempt, end)
      checkReplicated?.()
      checkWritable(result.rows)
      return result
    } catch (error) {
      // The pool would keep lending this connection to a server that is now read-only, and no job would run until a restart.
      if (isReadOnly(codeOf(error, name), readOnlyErrors)) end()
      throw error
    } finally {
      if (attempt) attempt.onAbandoned = undefined
      // On a broken connection release() fails too; report the first error.
      await queryRunner.release().catch(() => undefined)
    }
  }
}

/** Uses the caller's query runner, and leaves it to the caller to release it. */
export function givenQueryRunner(queryRunner: QueryRunnerLike, dialect: DialectName): UseQueryRunner {
  return async (work) => work(queryRunner, await connect(queryRunner, dialect))
}

/**
 * Connects explicitly rather than in the query, so that an error here proves that no statement was sent. SQL Server's query runner
 * connects only when it queries, and returns no connection here.
 */
async function connect(queryRunner: QueryRunnerLike, dialect: DialectName): Promise<object> {
  try {
    return (await queryRunner.connect()) ?? {}
  } catch (error) {
    throw new DriverError(drivers[dialect].errorCode(error as object), error, false)
  }
}

/** The server's code for an error, which TypeORM may have wrapped. */
function codeOf(error: unknown, dialect: DialectName): string | undefined {
  return error instanceof DriverError ? error.code : drivers[dialect].errorCode(unwrapped(error as object))
}

function unwrapped(error: { driverError?: object }): object {
  return error.driverError ?? error
}

/**
 * @param named prepares the statements about a single lock by name. Must be false inside a transaction, which a refused name would
 *   abort
 */
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

/** Dialects whose statements cannot be passed to the query runner's own `query` as they are. */
const RUN_STATEMENT: Readonly<Partial<Record<DialectName, RunStatement>>> = {
  mysql: preparedStatement,
  mariadb: preparedStatement,
  // TypeORM runs a statement that does not begin with an upper-case SELECT in a transaction, which takes locks.
  spanner: ({ text, ...statement }) => runPlain({ ...statement, text: text.replace(/^select /, 'SELECT ') }),
}

/** Ends a connection so that its pool opens a new one. SQL Server's query runners do not expose theirs. */
const DISCARD: Readonly<Partial<Record<DialectName, (connection: object) => void>>> = {
  postgres: endPgClient,
  cockroachdb: endPgClient,
  mysql: destroyConnection,
  mariadb: destroyConnection,
  oracle: dropConnection,
}
