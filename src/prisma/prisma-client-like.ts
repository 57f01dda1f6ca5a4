/**
 * What this library uses of your generated `PrismaClient`, plain or extended. A type test proves that real ones fit, and
 * that the client of an interactive transaction does not.
 */
export interface PrismaClientLike extends RawClientLike {
  /** The client of an interactive transaction has no `$connect`. */
  $connect(): Promise<void>
  /** Interactive transactions: how a lock of a SQLite database in memory waits for its turn. */
  $transaction<R>(
    work: (transaction: RawClientLike) => Promise<R>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<R>
}

/** What this library uses of any client of Prisma, that of a transaction included. */
export interface RawClientLike {
  /** @returns how many rows were changed */
  $executeRawUnsafe(query: string, ...values: unknown[]): PromiseLike<number>
  /** @returns the rows */
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>
}

/** What Prisma does not declare, but has had in every version from 6.16 to 7.10. Each part may be missing. */
export interface PrismaInternals {
  /** The `provider` of the schema. */
  readonly _activeProvider?: string
  readonly _engineConfig?: { readonly adapter?: AdapterFactoryLike }
}

/** What `new PrismaClient({ adapter })` takes: it makes connections. */
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

export interface AdapterQuery {
  readonly sql: string
  readonly args: unknown[]
  readonly argTypes: { scalarType: 'unknown'; arity: 'scalar' }[]
}

export function internals(client: RawClientLike): PrismaInternals {
  return client as PrismaInternals
}
