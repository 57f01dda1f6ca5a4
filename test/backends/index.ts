import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, test } from '@jest/globals'
import { DataSource, type DataSourceOptions } from 'typeorm'
import type { DialectName } from '../../src/sql/dialect'
import { DIRECTORY } from './directory'
import type { EMBEDDED, FoundBackend } from './find-backends'
import { createPglite } from './pglite'
import { servers } from './servers'
import type { Server, TestDatabase } from './server'
import { sqlite3Options } from './sqlite3'

export type { TestDatabase } from './server'

export interface Backend {
  readonly name: string
  readonly dialect: DialectName
  /** The server's URL; of no use for an embedded database. */
  readonly url: string
  /** Whether two connections can see one database: not when it lives in memory. */
  readonly shared: boolean
  /** Whether a session can be in a time zone by its name, where that is not so everywhere. */
  readonly knowsNamedZones: boolean
  readonly conformanceOnly?: true
  create(): Promise<TestDatabase>
}

/** The backends that this run found, for all tests; see `test/backends/find-backends.ts`. @param names of those that are wanted, or all */
export function availableBackends(...names: readonly string[]): Backend[] {
  const available = conformanceBackends().filter(({ conformanceOnly }) => !conformanceOnly)
  return names.length > 0 ? available.filter(({ name }) => names.includes(name)) : available
}

/** And those on which the conformance suite alone is run. */
export function conformanceBackends(): Backend[] {
  const found = JSON.parse(process.env['FOUND_BACKENDS'] ?? '[]') as FoundBackend[]
  return found.flatMap(({ name, url, knowsNamedZones = false }) => {
    if (url === undefined) return []
    const server = servers.find((each) => each.name === name)
    return [
      server
        ? serverBackend(server, url, knowsNamedZones)
        : embeddedBackend(name as (typeof EMBEDDED)[number]),
    ]
  })
}

/** And with TypeORM's type sqlite, which TypeORM 0.3 alone has. */
export function typeOrmBackends(): Backend[] {
  return conformanceBackends().filter(({ name, conformanceOnly }) => !conformanceOnly || name === 'sqlite3')
}

/** `describe.each` for backends. Jest has no table without rows, and this run may have none of these. */
export function describeBackends<T extends object>(
  backends: readonly T[],
): (title: string, describeOne: (backend: T) => void) => void {
  return backends.length > 0 ? describe.each(backends) : withoutBackend
}

/** The same for `test.each`. */
export function testBackends<T extends object>(
  backends: readonly T[],
): (title: string, testOne: (backend: T) => Promise<void>) => void {
  return backends.length > 0 ? test.each(backends) : withoutBackend
}

function withoutBackend(title: string): void {
  test.skip(`${title}: this run has no such backend`, () => undefined)
}

function serverBackend(server: Server, url: string, knowsNamedZones: boolean): Backend {
  const administerBySql = async (statements: readonly string[]): Promise<void> => {
    const dataSource = await new DataSource(server.typeOrm(url)).initialize()
    try {
      for (const statement of statements) await dataSource.query(statement)
    } finally {
      await dataSource.destroy()
    }
  }
  const administer = (orders: readonly string[]): Promise<void> =>
    server.administer?.(url, orders) ?? administerBySql(orders)
  return {
    name: server.name,
    dialect: server.dialect,
    url,
    shared: true,
    knowsNamedZones,
    ...(server.conformanceOnly && { conformanceOnly: true }),
    create: async () => {
      const name = `shedlock_test_${randomBytes(6).toString('hex')}`
      await unlessBusy(() => administer(server.createDatabase(name)))
      const databaseUrl = server.databaseUrl(url, name)
      return {
        url: databaseUrl,
        typeOrm: server.typeOrm(databaseUrl),
        drop: () => administer(server.dropDatabase(name)),
      }
    },
  }
}

/** SQL Server copies its database `model` for one new database at a time, and refuses others: error 1807. */
async function unlessBusy(create: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + 60_000
  for (;;) {
    try {
      await create()
      return
    } catch (error) {
      if ((error as { number?: unknown }).number !== 1807 || Date.now() > deadline) throw error
    }
    await sleep(100 + Math.random() * 400)
  }
}

function embeddedBackend(name: (typeof EMBEDDED)[number]): Backend {
  return { name, url: name, knowsNamedZones: false, ...embedded[name] }
}

async function createFile(options: object): Promise<TestDatabase> {
  const directory = await mkdtemp(join(DIRECTORY, 'shedlock-test-'))
  const database = join(directory, 'test.sqlite')
  return {
    url: `file:${database}`,
    typeOrm: { ...options, database } as DataSourceOptions,
    drop: () => rm(directory, { recursive: true }),
  }
}

const drop = (): Promise<void> => Promise.resolve()
const inMemory = (url: string, typeOrm: DataSourceOptions) => ({
  dialect: 'sqlite' as const,
  shared: false,
  create: () => Promise.resolve({ url, typeOrm, drop }),
})
const embedded: Readonly<
  Record<(typeof EMBEDDED)[number], Omit<Backend, 'name' | 'url' | 'knowsNamedZones'>>
> = {
  sqlite: { dialect: 'sqlite', shared: true, create: () => createFile({ type: 'better-sqlite3' }) },
  sqlite3: {
    ...{ dialect: 'sqlite', shared: true, conformanceOnly: true },
    create: () => createFile(sqlite3Options()),
  },
  'sqlite-memory': inMemory('file::memory:', { type: 'better-sqlite3', database: ':memory:' }),
  sqljs: inMemory('sqljs:', { type: 'sqljs' }),
  pglite: { dialect: 'postgres', shared: false, conformanceOnly: true, create: createPglite },
}
