import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/internal'
import type { SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, type Backend, type TestDatabase } from '../backends'
import { observeLockTable } from '../conformance/lock-table-observer'
import { prismaBackends } from '../prisma/clients'
import { eventually } from '../eventually'
import { cuttingProxy } from '../typeorm/cutting-proxy'

const job = (name: string | number) => ({ name: `job ${name}`, lockAtMostFor: '1h' })
const OPTIONS = { timeLimit: '2s' }
const SERVERS = ['postgres', 'mariadb', 'mysql']

async function create<Database extends TestDatabase>(backend: {
  readonly dialect: Backend['dialect']
  create(): Promise<Database>
}): Promise<Database> {
  const database = await backend.create()
  afterTest(() => database.drop())
  const observer = await new DataSource(database.typeOrm).initialize()
  await observeLockTable(observer, backend.dialect).createTable()
  await observer.destroy()
  return database
}

/** A provider on a database of its own, whose server is to be reached through a port. */
interface Case {
  readonly title: string
  readonly backend: string
  create(): Promise<{ serverPort: number; connect: (port: number) => Promise<SqlLockProvider> }>
}

const portOf = ({ typeOrm }: TestDatabase): number => (typeOrm as { port: number }).port

const withTypeOrm = availableBackends().map((backend): Case => ({
  title: `TypeORM on ${backend.name}`,
  backend: backend.name,
  create: async () => {
    const database = await create(backend)
    const connect = async (port: number): Promise<SqlLockProvider> => {
      const options = { ...database.typeOrm, host: '127.0.0.1', port } as typeof database.typeOrm
      const dataSource = await new DataSource(options).initialize()
      afterTest(() => dataSource.destroy())
      return typeOrmLockProvider(dataSource, OPTIONS)
    }
    return { serverPort: portOf(database), connect }
  },
}))

const withPrisma = prismaBackends().map((backend): Case => ({
  title: `Prisma on ${backend.name}`,
  backend: backend.name,
  create: async () => {
    const database = await create(backend)
    const connect = async (port: number): Promise<SqlLockProvider> => {
      const url = new URL(database.url)
      url.host = `127.0.0.1:${port}`
      // The pool of MariaDB's driver waits ten seconds for a server that refuses it.
      const options = { connectionString: url.href, host: '127.0.0.1', port, acquireTimeout: 200 }
      return prismaLockProvider(await database.connect(options), OPTIONS)
    }
    return { serverPort: portOf(database), connect }
  },
}))

const cases = [...withTypeOrm, ...withPrisma].filter(({ backend }) => SERVERS.includes(backend))

describeBackends(cases)('a server that refuses connections, by $title', (each) => {
  it('leaves nothing to be released behind 300 locks that could not be acquired', async () => {
    const { serverPort, connect } = await each.create()
    const first = await cuttingProxy(serverPort)
    const provider = await connect(first.port)
    // A release in the background would make Prisma connect again after it has disconnected.
    afterTest(() => provider.drain({ timeout: '5s' }))
    await (await provider.lock(job('first')))?.unlock()
    first.close()
    const attempts = async (count: number): Promise<void> => {
      const locks = Array.from({ length: count }, (_, index) => provider.lock(job(index)))
      for (const outcome of await Promise.allSettled(locks))
        expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'LockError' } })
    }
    // Connections that broke under a statement are another matter.
    await attempts(20)
    await provider.drain({ timeout: 0 })

    for (let round = 0; round < 15; round++) await attempts(20)
    const second = await cuttingProxy(serverPort, first.port)
    afterTest(() => second.close())
    await provider.drain()
    expect(second.sent.filter((text) => text.includes('shedlock'))).toEqual([])
    // A pool may need a while.
    await eventually(async () => expect(await provider.lock(job('first'))).toBeDefined())
    expect(second.sent.join()).toContain('shedlock')
  })
})
