import { beforeAll, describe } from '@jest/globals'
import { DataSource } from 'typeorm'
import { lockProviderSuite } from '../../src/testing'
import { afterBlock } from '../after-test'
import { conformanceBackends, describeBackends } from '../backends'
import {
  prismaBackends,
  type PrismaBackend,
  type PrismaTestDatabase,
  type TestClient,
} from '../prisma/clients'
import { prismaClient, type Connected } from './prisma-client'
import { register, registerOn } from './register'
import { createAppTables, sqlEnvironment, type Observer } from './sql-environment'
import { sqlLockProviderSuite } from './sql-lock-provider-suite'

/**
 * The ways in which apps connect to a backend, where there are several. The journal is the file's, and what differs with it
 * is seen through better-sqlite3; libsql has one transaction at a time with either.
 */
function variantsOf({ name, adapter }: PrismaBackend): readonly { variant: string; wal: boolean }[] {
  if (name !== 'sqlite' || adapter === 'libsql') return [{ variant: '', wal: false }]
  return [
    { variant: ' with a rollback journal', wal: false },
    { variant: ' with WAL', wal: true },
  ]
}

/** Lets the exported suites run through Prisma. A file for some backends each, so that they run beside each other. */
export function describePrisma(isOurs: (backend: PrismaBackend) => boolean): void {
  const backends = prismaBackends(conformanceBackends()).filter(isOurs)
  const cases = backends.flatMap((backend) => variantsOf(backend).map((variant) => ({ backend, ...variant })))
  describeBackends(cases)('Prisma on $backend.name by $backend.adapter$variant', ({ backend, wal }) =>
    describeSuites(backend, wal),
  )
}

function describeSuites(backend: PrismaBackend, wal: boolean): void {
  let connected: Connected
  let observation: Observation
  const client = prismaClient(backend, wal, () => connected)
  const environment = sqlEnvironment(
    { query: (...sql) => observation.observer.query(...sql) },
    backend.dialect,
    client,
  )

  const after = afterBlock()
  beforeAll(async () => {
    const database = await backend.create()
    after(() => database.drop())
    connected = { database, client: await database.connect() }
    observation = await observe(backend, database, connected.client)
    after(() => observation.close())
    if (wal) await observation.observer.query('pragma journal_mode = wal')
    await createAppTables(observation.observer)
    await environment.createTable()
  })

  describe('as any lock provider', () => {
    lockProviderSuite(environment).forEach(registerOn(backend.name))
  })
  describe('as a lock provider in SQL', () => {
    sqlLockProviderSuite(environment).forEach(register)
  })
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
