import { clientError, FOR_MOCKS } from '../core/internal'
import type { Dialect, DialectName } from '../sql/internal'

/** What this library uses of any Prisma client, including the client of a transaction. */
export interface RawClientLike {
  /** Runs a writing statement, and returns the number of rows it changed. */
  $executeRawUnsafe(query: string, ...values: unknown[]): PromiseLike<number>
  /** Runs a reading statement, and returns its rows. */
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>
}

/**
 * What this library uses of your generated `PrismaClient`, plain or extended. The client of an interactive transaction does not fit.
 */
export interface PrismaClientLike extends RawClientLike {
  /** Connects. The client of an interactive transaction has no `$connect`. */
  $connect(): Promise<void>
  /** Runs an interactive transaction. A lock in an in-memory SQLite database uses one to wait for the app's transactions. */
  $transaction<R>(
    work: (transaction: RawClientLike) => Promise<R>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<R>
}

const TRANSACTION: unique symbol = Symbol.for('prisma.client.transaction.id')

/** Members that Prisma does not declare but has had in every version from 5.0 to 7.10. Any of them may be missing. */
interface PrismaInternals {
  /** The `provider` of the schema. */
  readonly _activeProvider?: string
  readonly _engineConfig?: { readonly adapter?: AdapterFactoryLike }
  /** The client that was constructed, before it was extended. */
  readonly _originalClient?: PrismaClientLike
  /** The transaction, of the client of an interactive transaction. */
  readonly [TRANSACTION]?: unknown
}

/** The adapter of `new PrismaClient({ adapter })`. */
export interface AdapterFactoryLike {
  readonly provider: string
  readonly adapterName: string
  /** Opens a connection. Up to Prisma 6.5, the adapter is a connection itself. */
  connect?(): Promise<AdapterLike>
  /** The second argument of PrismaPg and PrismaMssql. PrismaMariaDb hides its own. */
  readonly options?: { readonly schema?: unknown }
}

/** One connection of a driver adapter. */
export interface AdapterLike {
  executeRaw(query: AdapterQuery): Promise<number>
  queryRaw(query: AdapterQuery): Promise<{ columnNames: string[]; rows: unknown[][] }>
  dispose(): Promise<void>
  /** Returns its pool. */
  underlyingDriver?(): object
}

interface AdapterQuery {
  readonly sql: string
  readonly args: unknown[]
  readonly argTypes: { scalarType: 'unknown'; arity: 'scalar' }[]
}

/** Returns a client that runs its statements on one connection of an adapter. */
export function rawClientOf(connection: AdapterLike): RawClientLike {
  const query = (sql: string, args: unknown[]): AdapterQuery => {
    const argTypes = args.map(() => ({ scalarType: 'unknown', arity: 'scalar' }) as const)
    return { sql, args, argTypes }
  }
  return {
    $executeRawUnsafe: (text, ...values) => connection.executeRaw(query(text, values)),
    $queryRawUnsafe: async (text, ...values) => {
      const { columnNames, rows } = await connection.queryRaw(query(text, values))
      return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])))
    },
  }
}

/**
 * Returns whether this is the client of an interactive transaction. It has no `$connect`, but up to Prisma 6.5 an extension may add one.
 */
export function isOfTransaction(client: Partial<PrismaClientLike>): boolean {
  return typeof client.$connect !== 'function' || (client as PrismaInternals)[TRANSACTION] !== undefined
}

export function adapterOf(client: RawClientLike): AdapterFactoryLike | undefined {
  return (client as PrismaInternals)._engineConfig?.adapter
}

/**
 * Returns whether the client uses Prisma's own engine, without an adapter. Its pool lends each call outside of a transaction a
 * connection that no transaction uses, also for SQLite.
 * https://github.com/prisma/prisma-engines/blob/main/query-engine/connectors/sql-query-connector/src/database/native/sqlite.rs
 */
export function hasOwnEngine(client: RawClientLike): boolean {
  const { _engineConfig } = client as PrismaInternals
  return _engineConfig !== undefined && !_engineConfig.adapter
}

/** Returns the schema that the adapter's options name for the models. Raw SQL would use that of the connection. */
export function schemaOfModels(client: RawClientLike): string | undefined {
  const schema = adapterOf(client)?.options?.schema
  return typeof schema === 'string' && schema !== '' ? schema : undefined
}

/**
 * Returns the client as it was constructed: a proxy may become the client of a transaction later, and extensions may change statements
 * or rows, or send them to a read replica, whose rows may be stale.
 */
export function originalOf(client: PrismaClientLike): PrismaClientLike {
  return (client as PrismaInternals)._originalClient ?? client
}

/** Maps a supported database to its dialect, by the schema's `provider` and by the names that driver adapters use. */
export const CLIENT_DIALECTS: Readonly<Record<string, DialectName>> = {
  postgresql: 'postgres',
  postgres: 'postgres',
  cockroachdb: 'cockroachdb',
  // Also MariaDB: Prisma does not distinguish the two, and lock statements work on both.
  mysql: 'mysql',
  sqlite: 'sqlite',
  sqlserver: 'mssql',
}

/** SQLite's `datetime(3)` is TypeORM's. Prisma does not know it, and SQLite ignores the precision. */
export function tableOfPrisma({ name, table }: Dialect): Dialect['table'] {
  return name === 'sqlite' ? { ...table, time: 'datetime' } : table
}

/** @throws LockError `INVALID_CLIENT` if the database is not supported */
export function dialectOfClient(client: PrismaClientLike): DialectName {
  const provider = (client as PrismaInternals)._activeProvider ?? adapterOf(client)?.provider
  const name = CLIENT_DIALECTS[provider ?? '']
  if (name) return name
  throw clientError(
    provider === undefined
      ? `The client does not reveal which database it uses – set the option dialect. ${FOR_MOCKS}`
      : `A PrismaClient for '${provider}' cannot keep locks – supported are ${Object.keys(CLIENT_DIALECTS).join(', ')}.`,
  )
}
