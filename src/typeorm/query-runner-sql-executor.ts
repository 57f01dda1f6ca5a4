import { LockError } from '../core'
import { drivers } from '../drivers'
import {
  DriverError,
  speller,
  type DialectName,
  type Row,
  type SqlExecutor,
  type Statement,
  type Values,
} from '../sql'
import { RUN_STATEMENT } from './client-dialects'
import type { DataSourceLike, QueryResultLike, QueryRunnerLike, RunStatement } from './data-source-like'

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
  const { placeholder, errorCode } = drivers[dialect]
  const run: RunStatement =
    RUN_STATEMENT[dialect] ?? ((queryRunner, text, values) => queryRunner.query(text, values, true))
  const spelled = speller(placeholder)

  const result = (statement: Statement, values: Values): Promise<QueryResultLike> => {
    const { text, bind } = spelled(statement)
    return use(async (queryRunner) => {
      try {
        return await run(queryRunner, text, bind(values))
      } catch (error) {
        // TypeORM wraps the driver's error.
        const driverError = (error as { driverError?: object }).driverError ?? (error as object)
        throw new DriverError(errorCode(driverError), error)
      }
    })
  }

  return {
    execute: async (statement, values) => {
      const { affected } = await result(statement, values)
      if (affected !== undefined) return affected
      throw new LockError(
        'INVALID_CLIENT',
        'This DataSource does not tell how many rows a statement changed, so that nobody would know whether a lock was acquired – use a driver that does.',
      )
    },
    query: async (statement, values) => (await result(statement, values)).records as Row[],
  }
}
