import { invalidClient } from '../core/internal'
import type { DialectName, LockTableOptions } from '../sql/internal'

/** What this library uses of TypeORM's `DataSource`, in TypeORM 0.3 and 1.x. */
export interface DataSourceLike {
  readonly isInitialized: boolean
  readonly options: { readonly type: string; readonly database?: unknown; readonly schema?: unknown }
  readonly driver: unknown
  readonly logger?: {
    /** Logs a statement. */
    logQuery(query: string, parameters?: unknown[]): unknown
    /** Logs a statement that failed. */
    logQueryError(error: string | Error, query: string, parameters?: unknown[]): unknown
    /** Logs a warning. */
    log(level: 'warn', message: string): unknown
  }
  /** Makes a query runner for one connection of the pool; with `master`, of the primary and not of a replica. */
  createQueryRunner(mode?: 'master' | 'slave'): QueryRunnerLike
}

/** What this library uses of TypeORM's `QueryRunner`. */
export interface QueryRunnerLike {
  /** Runs one statement, and returns its rows and how many rows it changed. */
  query(
    query: string,
    parameters: unknown[] | undefined,
    useStructuredResult: true,
  ): Promise<{ records: unknown[] | undefined; affected?: number | undefined }>
  /** Changes the schema, on Spanner only: there a definition is not a statement. */
  updateDDL?(query: string): Promise<unknown>
  /** Connects, and returns the driver's own connection. */
  connect(): Promise<unknown>
  /** Returns the connection to the pool. */
  release(): Promise<void>
  readonly isTransactionActive?: boolean
  /** The DataSource, in TypeORM 1.x. */
  readonly dataSource?: DataSourceLike
  /** The same in 0.3. */
  readonly connection?: DataSourceLike
}

/** TypeORM's names for the databases that have a dialect here. */
export const CLIENT_DIALECTS: Readonly<Record<string, DialectName>> = {
  postgres: 'postgres',
  'aurora-postgres': 'postgres',
  mysql: 'mysql',
  'aurora-mysql': 'mysql',
  mariadb: 'mariadb',
  'better-sqlite3': 'sqlite',
  sqljs: 'sqlite',
  cockroachdb: 'cockroachdb',
  mssql: 'mssql',
  oracle: 'oracle',
  sap: 'hana',
  spanner: 'spanner',
}

/** The lock table in the schema of the DataSource, as its entities are, unless the options name another. */
export function inSchemaOf(
  { schema }: Partial<DataSourceLike['options']>,
  options: LockTableOptions,
): LockTableOptions {
  if (options.schema !== undefined || typeof schema !== 'string' || schema === '') return options
  return { ...options, schema }
}

/** @throws LockError `INVALID_CLIENT` for a database that has no dialect here */
export function dialectOf({ type }: DataSourceLike['options']): DialectName {
  const name = CLIENT_DIALECTS[type]
  if (name) return name
  throw invalidClient(
    `A DataSource of type '${type}' cannot keep locks – supported are ${Object.keys(CLIENT_DIALECTS).join(', ')}.`,
  )
}

export function dataSourceOf({ dataSource, connection }: QueryRunnerLike): DataSourceLike | undefined {
  return dataSource ?? connection
}
