import { expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { endOtherSessions } from '../backends/server-sessions'
import { prismaBackends } from '../prisma/clients'

const SERVERS = ['postgres', 'mariadb', 'mysql']
const job = { name: 'job', lockAtMostFor: '1h' }

/** Locks in a timer that is due when this process goes on, after the server has ended its idle connections. */
async function lockAfterThaw(provider: SqlLockProvider, url: string) {
  const locked = new Promise((resolve) => {
    setTimeout(() => {
      resolve(provider.lock(job).catch((error: unknown) => error))
    }, 1)
  })
  expect(endOtherSessions(url)).toBe('')
  return locked
}

describeBackends(availableBackends().filter(({ name }) => SERVERS.includes(name)))(
  'a process that was frozen, on $name',
  (backend) => {
    it('acquires its first lock through TypeORM, although the server has ended its idle connections', async () => {
      const { database, dataSource } = await openDatabase(backend, { ...migrated(), poolSize: 3 })
      const provider = typeOrmLockProvider(dataSource)
      const warm = ['one', 'two', 'three'].map((name) => provider.lock({ ...job, name }))
      for (const lock of await Promise.all(warm)) await lock?.unlock()
      expect(await lockAfterThaw(provider, database.url)).toMatchObject({ name: 'job' })
    })
  },
)

describeBackends(prismaBackends().filter(({ name }) => SERVERS.includes(name)))(
  'a process that was frozen, on $name',
  (backend) => {
    it('acquires its first lock through Prisma, although the server has ended its idle connections', async () => {
      const { database } = await openDatabase(backend, migrated())
      const provider = prismaLockProvider(await database.connect())
      const warm = ['one', 'two', 'three'].map((name) => provider.lock({ ...job, name }))
      for (const lock of await Promise.all(warm)) await lock?.unlock()
      expect(await lockAfterThaw(provider, database.url)).toMatchObject({ name: 'job' })
      await provider.drain()
    })
  },
)
