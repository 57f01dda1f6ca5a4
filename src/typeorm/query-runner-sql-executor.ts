import { drivers, sqlExecutor } from '../drivers'
import type { DialectName, Row, SqlExecutor } from '../sql'
import { RUN_STATEMENT, runPlain } from './client-dialects'
import { checkInitialised, type DataSourceLike, type QueryRunnerLike } from './data-source-like'
import { namedStatements } from './named-statements'

/** Lends a query runner for one statement. */
export type UseQueryRunner = <T>(work: (queryRunner: QueryRunnerLike) => Promise<T>) => Promise<T>

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
      // A connection that broke cannot be given back either; the first error is the one to tell.
      await queryRunner.release().catch(() => undefined)
    }
  }
}

/** @param named keeps what is asked about one lock on the server; not for a transaction, which a refused name would abort */
export function queryRunnerSqlExecutor(
  use: UseQueryRunner,
  dialect: DialectName,
  named = false,
): SqlExecutor {
  const { placeholder, errorCode } = drivers[dialect]
  // TypeORM wraps the driver's error.
  const codeOf = (error: { driverError?: object }) => errorCode(error.driverError ?? error)
  const run = RUN_STATEMENT[dialect] ?? runPlain
  const runNamed = named ? namedStatements(run) : run
  return sqlExecutor({ placeholder, errorCode: codeOf }, (text, values, { parameters }) =>
    use(async (queryRunner) => {
      const runIt = parameters.includes('name') ? runNamed : run
      const { records, affected } = await runIt(queryRunner, text, values)
      return { rows: records as Row[], changed: affected }
    }),
  )
}
