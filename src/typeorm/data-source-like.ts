import { clientError } from '../core/internal'
import type { DialectName } from '../sql/internal'

/** What this library uses of TypeORM's `DataSource`, in TypeORM 0.3 and 1.x. */
export interface DataSourceLike {
  readonly isInitialized: boolean
  readonly options: {
    readonly type: string
    readonly database?: unknown
    readonly schema?: unknown
    readonly entityPrefix?: unknown
    readonly poolSize?: unknown
    readonly extra?: unknown
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
  readonly logger?: {
    /** Logs a statement. */
    logQuery(query: string, parameters?: unknown[]): unknown
  }
  /** Creates a query runner, which uses one pooled connection; `master` selects the primary rather than a replica. */
  createQueryRunner(mode?: 'master' | 'slave'): QueryRunnerLike
}

/** Where a server is, in the options of the databases that have servers. */
interface ServerOptions {
  readonly url?: unknown
  readonly host?: unknown
  readonly port?: unknown
  readonly replication?: { readonly master?: ServerOptions }
}

/** Returns the address of the primary, without user and password; `undefined` for a file. */
export function serverOf(options: object): string | undefined {
  const { replication, ...own } = options as ServerOptions
  const { url, host, port } = replication?.master ?? own
  if (typeof url === 'string' && URL.canParse(url)) return new URL(url).host || undefined
  if (typeof host !== 'string') return undefined
  return typeof port === 'number' ? `${host}:${port}` : host
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

/** What is known of one of TypeORM's database types. */
export type DatabaseType =
  | {
      readonly dialect: DialectName
      /** No test has reached this database through TypeORM's own driver for this type. */
      readonly untried?: true
      /** Its driver runs statements in threads, so that others may run between two of a transaction. */
      readonly isThreaded?: true
    }
  | {
      /** Why it cannot keep locks, and what to do instead. */
      readonly refused: string
    }

const ON_A_DEVICE: DatabaseType = {
  refused:
    'its database belongs to one app on one device, where no other instance runs the jobs: use InMemoryLockProvider',
}

/** Every `type` of a DataSource in TypeORM 0.3 and 1.x; docs/works-with.md has the same table. */
export const DATABASE_TYPES: Readonly<Record<string, DatabaseType>> = {
  postgres: { dialect: 'postgres' },
  'aurora-postgres': { dialect: 'postgres', untried: true },
  mysql: { dialect: 'mysql' },
  'aurora-mysql': { dialect: 'mysql', untried: true },
  mariadb: { dialect: 'mariadb' },
  'better-sqlite3': { dialect: 'sqlite' },
  sqlite: { dialect: 'sqlite', isThreaded: true },
  sqljs: { dialect: 'sqlite' },
  cockroachdb: { dialect: 'cockroachdb', untried: true },
  mssql: { dialect: 'mssql', untried: true },
  oracle: { dialect: 'oracle', untried: true },
  sap: { dialect: 'hana', untried: true },
  spanner: { dialect: 'spanner' },
  capacitor: ON_A_DEVICE,
  cordova: ON_A_DEVICE,
  expo: ON_A_DEVICE,
  nativescript: ON_A_DEVICE,
  'react-native': ON_A_DEVICE,
  mongodb: {
    refused: 'it has no SQL: keep the locks in a SQL database, or write a LockProvider of your own',
  },
}

/** What TypeORM calls the schema of an entity where it is not `schema`. SQLite's entities have none. */
export const SCHEMA_OF_ENTITY: Readonly<Partial<Record<DialectName, 'database' | 'none'>>> = {
  mysql: 'database',
  mariadb: 'database',
  sqlite: 'none',
}

/** @throws LockError `INVALID_CLIENT` if the database is not supported */
export function dialectOfDataSource({ type }: DataSourceLike['options']): DialectName {
  const known = Object.hasOwn(DATABASE_TYPES, type) ? DATABASE_TYPES[type] : undefined
  if (known && 'dialect' in known) return known.dialect
  const supported = Object.keys(DATABASE_TYPES).filter((each) => 'dialect' in (DATABASE_TYPES[each] ?? {}))
  throw clientError(
    `A DataSource of type '${type}' cannot keep locks – ${known?.refused ?? `supported are ${supported.join(', ')}`}.`,
  )
}
