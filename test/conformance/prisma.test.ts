import { DataSource } from 'typeorm'
import { afterAll, describe, it } from 'vitest'
import { lockProviderSuite, sqlLockProviderSuite, type SuiteCase } from '../../src/testing'
import {
  prismaBackends,
  type PrismaBackend,
  type PrismaTestDatabase,
  type TestClient,
} from '../prisma/clients'
import { prismaClient } from './prisma-client'
import { createAppTables, sqlEnvironment, type Observer } from './sql-environment'

/** The ways in which apps connect to a backend, where there are several. */
function variantsOf({ name }: PrismaBackend): Record<string, boolean> {
  return name === 'sqlite' ? { ' with a rollback journal': false, ' with WAL': true } : { '': false }
}

function register({ title, skip, run }: SuiteCase): void {
  it(title, async (context) => {
    if (skip !== undefined) context.skip(skip)
    await run()
  })
}

for (const backend of prismaBackends()) {
  for (const [variant, enableWAL] of Object.entries(variantsOf(backend))) {
    describe(`Prisma on ${backend.name} by ${backend.adapter}${variant}`, async () => {
      const database = await backend.create()
      const shared = await database.connect()
      const { observer, close } = await observe(backend, database, shared)
      if (enableWAL) await observer.query('pragma journal_mode = wal')
      const client = prismaClient(backend, database, shared, enableWAL)
      const environment = sqlEnvironment(observer, backend.dialect, client)
      await createAppTables(observer)
      await environment.createTable()
      afterAll(async () => {
        await close()
        await database.drop()
      })

      describe.concurrent('as any lock provider', () => {
        lockProviderSuite(environment).forEach(register)
      })
      describe('as a lock provider in SQL', () => {
        sqlLockProviderSuite(environment).forEach(register)
      })
    })
  }
}

interface Observation {
  readonly observer: Observer
  readonly close: () => Promise<void>
}

async function observe(
  { shared, adapter }: PrismaBackend,
  database: PrismaTestDatabase,
  client: TestClient,
): Promise<Observation> {
  // What lives in memory can only be observed by the connection itself.
  if (!shared) return observeBy(client)
  if (adapter !== 'libsql') {
    const observer = await new DataSource(database.typeOrm).initialize()
    return { observer, close: () => observer.destroy() }
  }
  // Two libraries must not have one SQLite file open in one process: who closes it drops the locks of the other.
  // https://www.sqlite.org/howtocorrupt.html#_multiple_copies_of_sqlite_linked_into_the_same_application
  const other = await database.connect()
  await other.$queryRawUnsafe('pragma busy_timeout = 5000')
  return observeBy(other)
}

function observeBy(client: TestClient): Observation {
  return {
    observer: {
      query: async <T>(sql: string, values: unknown[] = []) =>
        (await client.$queryRawUnsafe(sql, ...values)) as T,
    },
    close: () => Promise.resolve(),
  }
}
