import { invalidClient } from '../core/internal'
import type { DialectName } from '../sql/internal'

/** What this library uses of TypeORM's `DataSource`, in TypeORM 0.3 and 1.x. */
export interface DataSourceLike {
  readonly isInitialized: boolean
  readonly options: {
    readonly type: string
    readonly database?: unknown
    readonly schema?: unknown
    readonly entityPrefix?: unknown
    /** In milliseconds. */
    readonly maxQueryExecutionTime?: number
  }
  /** Names the tables and columns of entities. */
  readonly namingStrategy?: {
    /** Names an entity's table, before the prefix. */
    tableName(entity: string, givenName: string | undefined): string
    /** Adds the DataSource's `entityPrefix`. */
    prefixTableName(prefix: string, tableName: string): string
    /** Names a property's column. */
    columnName(property: string, givenName: string | undefined, embeddedPrefixes: string[]): string
  }
  readonly driver: unknown
  readonly subscribers?: readonly unknown[]
  readonly logger?: {
    /** Logs a statement. */
    logQuery(query: string, parameters?: unknown[], queryRunner?: QueryRunnerLike): unknown
    /** Logs a statement that failed. */
    logQueryError(
      error: string | Error,
      query: string,
      parameters?: unknown[],
      queryRunner?: QueryRunnerLike,
    ): unknown
    /** Logs a statement that took longer than `maxQueryExecutionTime`. */
    logQuerySlow(
      milliseconds: number,
      query: string,
      parameters?: unknown[],
      queryRunner?: QueryRunnerLike,
    ): unknown
    /** Logs a warning. */
    log(level: 'warn', message: string): unknown
  }
  /** Creates a query runner, which uses one pooled connection; `master` selects the primary rather than a replica. */
  createQueryRunner(mode?: 'master' | 'slave'): QueryRunnerLike
}

/** What this library uses of TypeORM's `QueryRunner`. */
export interface QueryRunnerLike {
  /** Runs one statement and returns the rows it read and the number of rows it changed. */
  query(
    query: string,
    parameters: unknown[] | undefined,
    useStructuredResult: true,
  ): Promise<{ records: unknown[] | undefined; affected?: number | undefined }>
  /** Changes the schema. Only Spanner's query runner has it, because Spanner does not run DDL as an ordinary statement. */
  updateDDL?(query: string): Promise<unknown>
  /** Connects and returns the driver's own connection. */
  connect(): Promise<unknown>
  /** Returns the connection to the pool. */
  release(): Promise<void>
  readonly isTransactionActive?: boolean
  /** The DataSource, in TypeORM 1.x. */
  readonly dataSource?: DataSourceLike
  /** The DataSource, in TypeORM 0.3. */
  readonly connection?: DataSourceLike
}

/** Maps TypeORM's `type` of a supported database to its dialect. */
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

/** What TypeORM calls the schema of an entity where it is not `schema`. SQLite's entities have none. */
export const SCHEMA_OF_ENTITY: Readonly<Partial<Record<DialectName, 'database' | 'none'>>> = {
  mysql: 'database',
  mariadb: 'database',
  sqlite: 'none',
}

/** @throws LockError `INVALID_CLIENT` if the database is not supported */
export function dialectOfDataSource({ type }: DataSourceLike['options']): DialectName {
  const name = CLIENT_DIALECTS[type]
  if (name) return name
  throw invalidClient(
    `A DataSource of type '${type}' cannot keep locks – supported are ${Object.keys(CLIENT_DIALECTS).join(', ')}.`,
  )
}

export function dataSourceOf({ dataSource, connection }: QueryRunnerLike): DataSourceLike | undefined {
  return dataSource ?? connection
}
