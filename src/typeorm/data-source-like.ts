import { invalidClient } from '../core'
import type { DialectName, LockTableOptions } from '../sql'

/** What this library uses of TypeORM's `DataSource`, 0.3 and 1.x. A type test proves that the real ones fit. */
export interface DataSourceLike {
  readonly isInitialized: boolean
  readonly options: { readonly type: string; readonly database?: unknown; readonly schema?: unknown }
  readonly driver: unknown
  readonly logger?: {
    /** Hears of a statement. */
    logQuery(query: string, parameters?: unknown[]): unknown
    /** Hears of a statement that failed. */
    logQueryError(error: string | Error, query: string, parameters?: unknown[]): unknown
    /** Hears what somebody should know. */
    log(level: 'warn', message: string): unknown
  }
  /** A connection of the pool; `master` where there are replicas. */
  createQueryRunner(mode?: 'master' | 'slave'): QueryRunnerLike
}

/** What this library uses of TypeORM's `QueryRunner`. */
export interface QueryRunnerLike {
  /** Runs one statement, and says how many rows it changed, whatever the driver calls that. */
  query(
    query: string,
    parameters: unknown[] | undefined,
    useStructuredResult: true,
  ): Promise<{ records: unknown[]; affected?: number | undefined }>
  /** Spanner's: there a definition is no statement. */
  updateDDL?(query: string): Promise<unknown>
  /** The connection itself, as the driver made it. */
  connect(): Promise<unknown>
  /** Gives the connection back. */
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
