import { LockError } from '../core'

/** What this library uses of TypeORM's `DataSource`, 0.3 and 1.x. A type test proves that the real ones fit. */
export interface DataSourceLike {
  readonly isInitialized: boolean
  readonly options: { readonly type: string; readonly database?: unknown }
  readonly driver: unknown
  /** A connection of the pool; `master` where there are replicas. */
  createQueryRunner(mode?: 'master' | 'slave'): QueryRunnerLike
}

/** What this library uses of TypeORM's `QueryRunner`. */
export interface QueryRunnerLike {
  /** Runs one statement, and says how many rows it changed. */
  query(query: string, parameters: unknown[] | undefined, useStructuredResult: true): Promise<QueryResultLike>
  /** The connection itself, as the driver made it. */
  connect(): Promise<unknown>
  /** Where TypeORM 1.x and 0.3 keep the logger. */
  readonly dataSource?: { readonly logger: LoggerLike }
  readonly connection?: { readonly logger: LoggerLike }
  /** Gives the connection back. */
  release(): Promise<void>
}

/** What this library uses of TypeORM's `Logger`. */
export interface LoggerLike {
  /** Hears of a statement. */
  logQuery(query: string, parameters?: unknown[]): unknown
  /** Hears of a statement that failed. */
  logQueryError(error: string | Error, query: string, parameters?: unknown[]): unknown
  /** Hears what somebody should know. */
  log(level: 'warn', message: string): unknown
}

/** What this library uses of TypeORM's `QueryResult`. */
export interface QueryResultLike {
  /** How many rows were changed, whatever the driver calls it. */
  affected?: number | undefined
  records: unknown[]
}

/** Runs one statement on the connection of a query runner. */
export type RunStatement = (
  queryRunner: QueryRunnerLike,
  text: string,
  values: unknown[],
) => Promise<QueryResultLike>

export function loggerOf(queryRunner: QueryRunnerLike): LoggerLike | undefined {
  return (queryRunner.dataSource ?? queryRunner.connection)?.logger
}

/**
 * TypeORM's own errors would not say what to do.
 *
 * @throws LockError `INVALID_CLIENT` before `initialize()` and after `destroy()`
 */
export function checkInitialised({ isInitialized }: DataSourceLike): void {
  if (isInitialized) return
  throw new LockError(
    'INVALID_CLIENT',
    'The DataSource is not initialised, or was destroyed – await dataSource.initialize() before the first lock, and stop the jobs before destroy().',
  )
}
