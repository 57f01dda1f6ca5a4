import { drivers, sqlExecutor } from '../drivers'
import { DriverError, type DialectName, type Row, type SqlExecutor } from '../sql'
import { RUN_STATEMENT } from './client-dialects'
import type { DataSourceLike, QueryRunnerLike, RunStatement } from './data-source-like'

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

export function queryRunnerSqlExecutor(use: UseQueryRunner, dialect: DialectName): SqlExecutor {
  const driver = drivers[dialect]
  const run: RunStatement =
    RUN_STATEMENT[dialect] ?? ((queryRunner, text, values) => queryRunner.query(text, values, true))
  return sqlExecutor(driver, (text, values) =>
    use(async (queryRunner) => {
      try {
        const { records, affected } = await run(queryRunner, text, values)
        return { rows: records as Row[], changed: affected }
      } catch (error) {
        // TypeORM wraps the driver's error.
        const driverError = (error as { driverError?: object }).driverError ?? (error as object)
        throw new DriverError(driver.errorCode(driverError), error)
      }
    }),
  )
}
