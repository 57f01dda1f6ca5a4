import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { address } from '../../backends/server'
import type { Adapter as CurrentAdapter, TestClient } from '../adapters'
import { planetScale } from './planetscale'
import { ENGINE, generated, PACKAGES, PRISMA } from './version'

// Takes the place of ../adapters.ts while the tests of Prisma run with an earlier version.

interface Adapter extends Omit<CurrentAdapter, 'make'> {
  make(url: string, options: Options): Promise<Made>
}

interface Made {
  /** Absent: the native engine connects by itself. */
  readonly adapter?: unknown
  readonly datasourceUrl?: string
  /** Closes what the adapter of Prisma 5 was given, which a disconnect leaves open. */
  readonly close?: () => Promise<void>
}

interface Options extends Readonly<Record<string, unknown>> {
  readonly adapter?: object
}

interface PgPool {
  readonly ending: boolean
  on(event: 'error' | 'connect', listener: (connection?: PgPool) => void): void
  end(): Promise<void>
}

type Constructor = new (...options: unknown[]) => unknown

const load = async <Name extends string>(module: string): Promise<Readonly<Record<Name, Constructor>>> =>
  (await import(join(PACKAGES, module))) as Readonly<Record<Name, Constructor>>
const has5 = PRISMA.startsWith('5.')

const POSTGRES: Omit<Adapter, 'make' | 'name'> = { backends: /^(postgres|pgbouncer)/, provider: 'postgresql' }
const MYSQL: Omit<Adapter, 'make' | 'name'> = { backends: /^(mariadb|mysql)/, provider: 'mysql' }
const SQLITE: Omit<Adapter, 'make' | 'name'> = { backends: /^sqlite$/, provider: 'sqlite' }

const UNREADABLE = { unreadable: 'text with a binary collation' }

const NATIVE_ENGINE: readonly Adapter[] = [POSTGRES, MYSQL, SQLITE].map((reached) => ({
  ...reached,
  name: 'native',
  make: (url, options) => Promise.resolve({ datasourceUrl: nativeUrl(url, options) }),
}))

const WITH_ADAPTERS: readonly Adapter[] = [
  { ...POSTGRES, name: 'pg', make: pg },
  ...(PRISMA === '6.19'
    ? [{ ...MYSQL, name: 'mariadb', make: mariaDb, ...(ENGINE !== 'client' && UNREADABLE) }]
    : []),
  { ...MYSQL, name: 'planetscale', make: planetScaleAdapter },
  ...(PRISMA === '6.19' ? [{ ...SQLITE, name: 'better-sqlite3', make: betterSqlite3 }] : []),
  { ...SQLITE, name: 'libsql', make: libsql },
]

export const ADAPTERS: readonly Adapter[] = ENGINE === 'native' ? NATIVE_ENGINE : WITH_ADAPTERS

export const NESTED_TRANSACTIONS = false

export function thrown({ originalCode: code }: { readonly originalCode: string }): object {
  return {
    meta:
      ENGINE === 'client'
        ? { driverAdapterError: { cause: { kind: 'TransactionWriteConflict' } } }
        : { code },
  }
}

export function adapterFor(backend: string): Adapter {
  const adapter = ADAPTERS.find(({ backends }) => backends.test(backend))
  if (!adapter) throw new Error(`Prisma ${PRISMA} has no adapter for ${backend}.`)
  return adapter
}

/** The options of a pool that the tests use, as the parameters of the native engine's URL. */
function nativeUrl(url: string, { max, connectionLimit = max, options }: Options): string {
  if (url.startsWith('file:')) return url
  const parsed = new URL(url)
  if (typeof connectionLimit === 'number')
    parsed.searchParams.set('connection_limit', String(connectionLimit))
  if (typeof options === 'string') parsed.searchParams.set('options', options)
  return parsed.href
}

async function pg(url: string, { adapter: options, ...config }: Options): Promise<Made> {
  const { PrismaPg } = await load<'PrismaPg'>('@prisma/adapter-pg')
  const pool = { connectionString: url, ...config }
  if (!has5) return { adapter: new PrismaPg(pool, options) }
  const { Pool } = (await load('pg')) as unknown as { Pool: new (options: object) => PgPool }
  const opened = new Pool(pool)
  // The adapter of Prisma 5 leaves the errors of connections that end to the app: https://node-postgres.com/apis/pool#error
  opened.on('error', () => undefined)
  opened.on('connect', (connection) => connection?.on('error', () => undefined))
  return {
    adapter: new PrismaPg(opened, options),
    close: async () => {
      // Prisma's `$disconnect` has ended it, or not.
      if (!opened.ending) await opened.end()
    },
  }
}

async function libsql(url: string): Promise<Made> {
  const { PrismaLibSQL } = await load<'PrismaLibSQL'>('@prisma/adapter-libsql')
  if (!has5) return { adapter: new PrismaLibSQL({ url }) }
  const { createClient } = (await load('@libsql/client')) as unknown as {
    createClient: (options: object) => { close(): void }
  }
  const opened = createClient({ url })
  const close = (): Promise<void> => {
    opened.close()
    return Promise.resolve()
  }
  return { adapter: new PrismaLibSQL(opened), close }
}

async function betterSqlite3(url: string, { adapter: _, ...config }: Options): Promise<Made> {
  const { PrismaBetterSQLite3 } = await load<'PrismaBetterSQLite3'>('@prisma/adapter-better-sqlite3')
  return { adapter: new PrismaBetterSQLite3({ ...config, url }) }
}

async function mariaDb(url: string, { adapter: options, ...config }: Options): Promise<Made> {
  const { username: user, ...rest } = address(url)
  const { PrismaMariaDb } = await load<'PrismaMariaDb'>('@prisma/adapter-mariadb')
  return { adapter: new PrismaMariaDb({ ...rest, user, ...config }, options) }
}

async function planetScaleAdapter(url: string): Promise<Made> {
  const { PrismaPlanetScale } = await load<'PrismaPlanetScale'>('@prisma/adapter-planetscale')
  const { fetch, close } = planetScale(url)
  const config = { url, fetch }
  if (!has5) return { adapter: new PrismaPlanetScale(config), close }
  const { Client } = await load<'Client'>('@planetscale/database/dist/cjs/index.js')
  return { adapter: new PrismaPlanetScale(new Client(config)), close }
}

interface ClientModule {
  readonly PrismaClient: new (options: object) => TestClient
}

/** Declared by the types of browsers alone. */
const { Module } = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object } })
  .WebAssembly

/** Loads the client that Prisma generated for edge runtimes, with the engine's WebAssembly read from its file. */
async function webAssemblyClient(folder: string): Promise<ClientModule['PrismaClient']> {
  const { PrismaClient } = (await import(join(folder, 'client/wasm.js'))) as ClientModule
  const runtime: unknown = await import(join(folder, 'client/query_engine_bg.js'))
  const engineWasm = {
    getRuntime: () => runtime,
    getQueryEngineWasmModule: () =>
      Promise.resolve(new Module(readFileSync(join(folder, 'client/query_engine_bg.wasm')))),
  }
  const __internal = { configOverride: (config: object) => ({ ...config, engineWasm }) }
  return class extends PrismaClient {
    constructor(options: object) {
      super({ ...options, __internal })
    }
  }
}

export async function connect(adapter: Adapter, url: string, options: Options = {}): Promise<TestClient> {
  const folder = generated(adapter.provider)
  const PrismaClient =
    ENGINE === 'wasm'
      ? await webAssemblyClient(folder)
      : ((await import(join(folder, 'client/index.js'))) as ClientModule).PrismaClient
  const { close, ...made } = await adapter.make(url, options)
  const client = new PrismaClient({ ...made, transactionOptions: { maxWait: 30_000, timeout: 30_000 } })
  const disconnect = client.$disconnect.bind(client)
  client.$disconnect = async () => {
    // The client engine never gives back a connection that the server ended during a transaction, and waits for it.
    const ended = ENGINE === 'client' ? [setTimeout(5_000, undefined, { ref: false })] : []
    await Promise.race([disconnect(), ...ended])
    await close?.()
  }
  return client
}
