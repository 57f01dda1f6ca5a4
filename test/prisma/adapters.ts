import { pgliteAdapter } from '../backends/pglite'
import { address } from '../backends/server'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import type { ShedLockClient, ShedLockExtension } from '../../src/prisma/prisma-lock-provider'

/**
 * A generated client as the tests use it. The real type is not named here, so that the tests' types can be checked
 * before anything was generated; `types/clients.ts` is about the real ones.
 */
export interface TestClient extends PrismaClientLike {
  $disconnect(): Promise<void>
  $on?(event: 'error', listener: () => void): void
  $extends(extension: (client: PrismaClientLike) => ShedLockExtension): TestClient & ShedLockClient
  $extends(extension: object): TestClient
}

/** A provider of Prisma's schemas for which a client is generated. */
export type TestProvider = 'postgresql' | 'cockroachdb' | 'mysql' | 'sqlserver' | 'sqlite'

/** How Prisma reaches some backends. */
export interface Adapter {
  readonly name: string
  readonly backends: RegExp
  readonly provider: TestProvider
  /** What its models cannot read, if that keeps it from reading the lock table. */
  readonly unreadable?: string
  /** Loads what it needs only now: all of them together take half a second in each test file. */
  make(url: string, options: Readonly<Record<string, unknown>>): unknown
}

const POSTGRES = /^(postgres|pgbouncer|odyssey|pgpool|haproxy)/

export const ADAPTERS: readonly Adapter[] = [
  { name: 'pg', backends: POSTGRES, provider: 'postgresql', make: pg },
  { name: 'mariadb', backends: /^(mariadb|mysql)/, provider: 'mysql', make: mariaDb },
  { name: 'pglite', backends: /^pglite$/, provider: 'postgresql', make: pgliteAdapter },
  { name: 'pg', backends: /^cockroachdb$/, provider: 'cockroachdb', make: pg },
  { name: 'mssql', backends: /^mssql$/, provider: 'sqlserver', make: mssql },
  { name: 'better-sqlite3', backends: /^sqlite/, provider: 'sqlite', make: betterSqlite3 },
  { name: 'libsql', backends: /^sqlite$/, provider: 'sqlite', make: libsql },
  { name: 'libsql', backends: /^sqlite-memory$/, provider: 'sqlite', make: () => libsql(':memory:') },
]

/** Whether `tx.$transaction` opens a nested transaction. */
export const NESTED_TRANSACTIONS = true as boolean

/** Returns what an error has that Prisma throws for this error of the server. */
export function thrown(cause: { readonly originalCode: string } | { readonly code: number }): object {
  return { meta: { driverAdapterError: { cause } } }
}

export function adapterFor(backend: string): Adapter {
  const adapter = ADAPTERS.find(({ backends }) => backends.test(backend))
  if (!adapter) throw new Error(`Prisma has no adapter for ${backend}.`)
  return adapter
}

interface Options extends Readonly<Record<string, unknown>> {
  /** Of the adapter itself; the others are those of the driver or its pool. */
  readonly adapter?: object
}

async function pg(url: string, { adapter, ...options }: Options) {
  const { PrismaPg } = await import('@prisma/adapter-pg')
  return new PrismaPg({ connectionString: url, ...options }, adapter)
}

async function mariaDb(url: string, { adapter, ...options }: Options) {
  const { username: user, ...rest } = address(url)
  const { PrismaMariaDb } = await import('@prisma/adapter-mariadb')
  return new PrismaMariaDb({ ...rest, user, ...options }, adapter)
}

async function mssql(url: string, options: object) {
  const { host: server, username: user, ...rest } = address(url)
  const { PrismaMssql } = await import('@prisma/adapter-mssql')
  const trusting = { encrypt: false, trustServerCertificate: true }
  // As TypeORM has it in test/backends/servers.ts.
  return new PrismaMssql({ ...rest, server, user, options: trusting, requestTimeout: 120_000, ...options })
}

async function betterSqlite3(url: string, options: object) {
  const { PrismaBetterSqlite3 } = await import('@prisma/adapter-better-sqlite3')
  return new PrismaBetterSqlite3({ ...options, url: url.replace('file::memory:', ':memory:') })
}

async function libsql(url: string, options: object = {}) {
  const { PrismaLibSql } = await import('@prisma/adapter-libsql')
  return new PrismaLibSql({ ...options, url })
}

export async function connect(
  adapter: Adapter,
  url: string,
  options: Readonly<Record<string, unknown>> = {},
  more: object = {},
): Promise<TestClient> {
  const { PrismaClient } = (await import(`./generated/${adapter.provider}/client.ts`)) as {
    PrismaClient: new (options: object) => TestClient
  }
  // Prisma's own limits, of 2 and 5 seconds, would end transactions on a busy machine.
  const transactionOptions = { maxWait: 30_000, timeout: 30_000 }
  return new PrismaClient({ adapter: await adapter.make(url, options), transactionOptions, ...more })
}
