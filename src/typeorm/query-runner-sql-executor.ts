import { drivers, sqlExecutor } from '../drivers'
import { DriverError, type DialectName, type Row, type SqlExecutor } from '../sql'
import { RUN_STATEMENT } from './client-dialects'
import type { DataSourceLike, QueryResultLike, QueryRunnerLike, RunStatement } from './data-source-like'
import type { NamedStatements } from './named-statements'

/** Lends a query runner for one statement. */
export type UseQueryRunner = <T>(work: (queryRunner: QueryRunnerLike) => Promise<T>) => Promise<T>

/**
 * A query runner of its own for each statement: autocommit on a pooled connection. Not `dataSource.query()`, which drops
 * the count of changed rows, and joins the ambient transaction under typeorm-transactional.
 */
export function ownQueryRunner(dataSource: DataSourceLike): UseQueryRunner {
  return async (work) => {
    // A replica would answer with yesterday's row.
    const queryRunner = dataSource.createQueryRunner('master')
    try {
      return await work(queryRunner)
    } finally {
      // A connection that broke cannot be given back either; the first error is the one to tell.
      await queryRunner.release().catch(() => undefined)
    }
  }
}

/** @param named keeps what is asked about one lock on the server; not for a transaction, which a refused name would abort */
export function queryRunnerSqlExecutor(
  use: UseQueryRunner,
  dialect: DialectName,
  named?: NamedStatements,
): SqlExecutor {
  const driver = drivers[dialect]
  const unnamed: RunStatement =
    RUN_STATEMENT[dialect] ?? ((queryRunner, text, values) => queryRunner.query(text, values, true))
  return sqlExecutor(driver, async (text, values, { parameters }) => {
    const ask = (run: RunStatement): Promise<QueryResultLike> =>
      use(async (queryRunner) => {
        try {
          return await run(queryRunner, text, values)
        } catch (error) {
          // TypeORM wraps the driver's error.
          const driverError = (error as { driverError?: object }).driverError ?? (error as object)
          throw new DriverError(driver.errorCode(driverError), error)
        }
      })
    const { records, affected } =
      named && parameters.includes('name') ? await named.ask(ask, unnamed) : await ask(unnamed)
    return { rows: records as Row[], changed: affected }
  })
}
