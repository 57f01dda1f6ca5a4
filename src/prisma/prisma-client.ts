import { invalidClient } from '../core/internal'
import { drivers, type Driver } from '../drivers/internal'
import type { DialectName } from '../sql/internal'

/** What this library uses of any client of Prisma, including that of a transaction. */
export interface RawClientLike {
  /** Runs a statement that writes, and returns how many rows it changed. */
  $executeRawUnsafe(query: string, ...values: unknown[]): PromiseLike<number>
  /** Runs a statement that reads, and returns the rows. */
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>
}

/**
 * What this library uses of your generated `PrismaClient`, plain or extended. The client of an interactive transaction is not one.
 */
export interface PrismaClientLike extends RawClientLike {
  /** Connects. The client of an interactive transaction has no `$connect`. */
  $connect(): Promise<void>
  /** Runs an interactive transaction. A lock of a SQLite database in memory waits for its turn with it. */
  $transaction<R>(
    work: (transaction: RawClientLike) => Promise<R>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<R>
}

/** What Prisma does not declare, but has had in every version from 6.16 to 7.10. Each part may be missing. */
interface PrismaInternals {
  /** The `provider` of the schema. */
  readonly _activeProvider?: string
  readonly _engineConfig?: { readonly adapter?: AdapterFactoryLike }
  /** What @prisma/extension-read-replicas adds. */
  readonly $primary?: () => PrismaClientLike
}

/** The adapter of `new PrismaClient({ adapter })`, which makes connections. */
export interface AdapterFactoryLike {
  readonly provider: string
  readonly adapterName: string
  connect(): Promise<AdapterLike>
}

/** One connection of a driver adapter. */
interface AdapterLike {
  executeRaw(query: AdapterQuery): Promise<number>
  queryRaw(query: AdapterQuery): Promise<{ columnNames: string[]; rows: unknown[][] }>
  dispose(): Promise<void>
}

interface AdapterQuery {
  readonly sql: string
  readonly args: unknown[]
  readonly argTypes: { scalarType: 'unknown'; arity: 'scalar' }[]
}

export function adapterOf(client: RawClientLike): AdapterFactoryLike | undefined {
  return (client as PrismaInternals)._engineConfig?.adapter
}

/** Under read replicas the client of the primary: a replica would answer with yesterday's row. */
export function primaryOf(client: PrismaClientLike): PrismaClientLike {
  const { $primary } = client as PrismaInternals
  return typeof $primary === 'function' ? $primary() : client
}

/** Prisma's names for the databases that have a dialect here: of the schema's `provider`, and of the driver adapters. */
export const CLIENT_DIALECTS: Readonly<Record<string, DialectName>> = {
  postgresql: 'postgres',
  postgres: 'postgres',
  cockroachdb: 'cockroachdb',
  // MySQL's and MariaDB's are one and the same to Prisma, and to the lock.
  mysql: 'mysql',
  sqlite: 'sqlite',
  sqlserver: 'mssql',
}

/** @throws LockError `INVALID_CLIENT` for a database that has no dialect here */
export function dialectOf(client: PrismaClientLike): DialectName {
  const provider = (client as PrismaInternals)._activeProvider ?? adapterOf(client)?.provider
  const name = CLIENT_DIALECTS[provider ?? '']
  if (name) return name
  throw invalidClient(
    provider === undefined
      ? 'The client does not tell which database it uses – set the option dialect.'
      : `A PrismaClient for '${provider}' cannot keep locks – supported are ${Object.keys(CLIENT_DIALECTS).join(', ')}.`,
  )
}

/** Prisma hands raw SQL on to the driver as it is, and names the values for SQL Server by itself. */
export function placeholderOf(dialect: DialectName): Driver['placeholder'] {
  return dialect === 'mssql' ? (position) => `@P${position + 1}` : drivers[dialect].placeholder
}
