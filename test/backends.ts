import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { inject } from 'vitest'
import type { DialectName } from '../src/sql'
import type { EMBEDDED } from './backends/find-backends'
import { servers } from './backends/servers'
import type { Server } from './backends/server'

/** An empty database that nobody else uses. */
export interface TestDatabase {
  readonly url: string
  readonly typeOrm: DataSourceOptions
  drop(): Promise<void>
}

export interface Backend {
  readonly name: string
  readonly dialect: DialectName
  /** The server's URL; of no use for an embedded database. */
  readonly url: string
  /** Whether two connections can see one database: not when it lives in memory. */
  readonly shared: boolean
  create(): Promise<TestDatabase>
}

/** The backends that this run found; see `test/backends/find-backends.ts`. */
export function availableBackends(): Backend[] {
  return inject('backends').flatMap(({ name, url }) => {
    if (url === undefined) return []
    const server = servers.find((each) => each.name === name)
    return [server ? serverBackend(server, url) : embeddedBackend(name as (typeof EMBEDDED)[number])]
  })
}

function serverBackend(server: Server, url: string): Backend {
  const administer = async (statements: readonly string[]): Promise<void> => {
    const dataSource = await new DataSource(server.typeOrm(url)).initialize()
    try {
      for (const statement of statements) await dataSource.query(statement)
    } finally {
      await dataSource.destroy()
    }
  }
  return {
    name: server.name,
    dialect: server.dialect,
    url,
    shared: true,
    create: async () => {
      const name = `shedlock_test_${randomBytes(6).toString('hex')}`
      await administer(server.createDatabase(name))
      const databaseUrl = server.databaseUrl(url, name)
      return {
        url: databaseUrl,
        typeOrm: server.typeOrm(databaseUrl),
        drop: () => administer(server.dropDatabase(name)),
      }
    },
  }
}

function embeddedBackend(name: (typeof EMBEDDED)[number]): Backend {
  return {
    name,
    dialect: 'sqlite',
    url: name,
    shared: name === 'sqlite',
    create: name === 'sqlite' ? createFile : () => Promise.resolve(inMemory[name]),
  }
}

/** Linux keeps it in memory: the many small commits of a test need not reach a disk. */
const DIRECTORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

async function createFile(): Promise<TestDatabase> {
  const directory = await mkdtemp(join(DIRECTORY, 'shedlock-test-'))
  const database = join(directory, 'test.sqlite')
  return {
    url: `file:${database}`,
    typeOrm: { type: 'better-sqlite3', database },
    drop: () => rm(directory, { recursive: true }),
  }
}

const drop = (): Promise<void> => Promise.resolve()
const inMemory = {
  'sqlite-memory': {
    url: 'file::memory:',
    typeOrm: { type: 'better-sqlite3', database: ':memory:' },
    drop,
  },
  sqljs: { url: 'sqljs:', typeOrm: { type: 'sqljs' }, drop },
} satisfies Record<string, TestDatabase>
