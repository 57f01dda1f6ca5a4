import { DriverError, speller, type Row, type SqlExecutor, type Statement, type Values } from '../sql'
import type { DataSourceLike, QueryResultLike, QueryRunnerLike } from './data-source-like'
import { nativeCode } from './native-code'

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

export function queryRunnerSqlExecutor(
  use: UseQueryRunner,
  placeholder: (position: number) => string,
): SqlExecutor {
  const spelled = speller(placeholder)

  const run = (statement: Statement, values: Values): Promise<QueryResultLike> => {
    const { text, bind } = spelled(statement)
    return use(async (queryRunner) => {
      try {
        return await queryRunner.query(text, bind(values), true)
      } catch (error) {
        throw new DriverError(nativeCode(error), error)
      }
    })
  }

  return {
    execute: async (statement, values) => (await run(statement, values)).affected ?? 0,
    query: async (statement, values) => (await run(statement, values)).records as Row[],
  }
}
