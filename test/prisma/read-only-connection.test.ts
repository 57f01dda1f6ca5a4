import { expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { endReadOnlyConnection } from '../../src/prisma/read-only-connection'
import { describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { idsOf, SESSIONS } from '../backends/server-sessions'
import { eventually } from '../eventually'
import { prismaBackends } from './clients'

const job = { name: 'job', lockAtMostFor: '1h' }
const READ_ONLY = 'set session transaction read only'
/** PlanetScale keeps the connections itself. */
const backends = prismaBackends().filter(
  ({ name, adapter }) => ['mariadb', 'mysql'].includes(name) && adapter !== 'planetscale',
)

describeBackends(backends)('a session on $name', (backend) => {
  it.each([undefined, backend.dialect])('that was made read-only is left: dialect %s', async (dialect) => {
    const { database } = await openDatabase(backend, migrated())
    const prisma = await database.connect({ connectionLimit: 1 })
    const provider = prismaLockProvider(prisma, { dialect })
    await (await provider.lock(job))?.unlock()
    await prisma.$executeRawUnsafe(READ_ONLY)
    expect(await provider.lock(job)).toBeDefined()
    await provider.drain()
  })

  it.each([1, 0])('of a pool is ended if it is read-only, and no other: %d of three is', async (count) => {
    const { database, dataSource } = await openDatabase(backend, { ...migrated(), poolSize: 1 })
    const sessions = () => idsOf(dataSource, SESSIONS.mysql.all)
    const prisma = await database.connect({ connectionLimit: 3 })
    const before = await eventually(async () => {
      await Promise.all([1, 2, 3].map(() => prisma.$queryRawUnsafe('select sleep(0.1)')))
      const all = await sessions()
      expect(all).toHaveLength(3)
      return all
    })
    if (count > 0) await prisma.$executeRawUnsafe(READ_ONLY)
    await endReadOnlyConnection(prisma)
    await eventually(async () => {
      const after = await sessions()
      expect(before.filter((id) => !after.includes(id))).toHaveLength(count)
    })
    // Lent in turn, so that each of them is asked.
    for (let turn = 0; turn < 6; turn++) await prisma.$executeRawUnsafe('delete from shedlock')
  })
})
