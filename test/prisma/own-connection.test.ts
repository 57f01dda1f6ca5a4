import { expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { afterTest } from '../after-test'
import { describeBackends } from '../backends'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'
import { prismaBackends } from './clients'
import { openPrisma } from './lock-table'

const job = { name: 'job', lockAtMostFor: '1m' }
const backends = prismaBackends().filter(({ adapter }) => adapter === 'pg' || adapter === 'mariadb')

describeBackends(backends)('locks of Prisma on $name', (backend) => {
  const isPostgres = backend.adapter === 'pg'
  /** One connection, on which a statement can begin a transaction. */
  const one = { max: 1, connectionLimit: 1, adapter: { useTextProtocol: true } }

  it('have connections of their own, which no transaction of the app reaches', async () => {
    const { prisma, database } = await openPrisma(backend, undefined, one)
    const adapter = isPostgres ? undefined : await database.ownAdapter()
    const provider = prismaLockProvider(prisma, { adapter })
    expect(provider.description).toMatch(/by connections of its own/)
    await prisma.$executeRawUnsafe('begin')
    const lock = await provider.lock(job)
    await prisma.$executeRawUnsafe('rollback')
    expect(lock).toBeDefined()
    expect(await provider.lock(job)).toBeUndefined()
    await lock?.unlock()
    await provider.drain()
  })

  it('in its own pool are refused where a transaction of the app would not be seen', async () => {
    const { prisma } = await openPrisma(backend, undefined, one)
    const provider = prismaLockProvider(prisma, { ownConnections: 0 })
    if (backend.name === 'mysql')
      await expect(provider.lock(job)).rejects.toEqual(lockError('INVALID_CLIENT', /text protocol of MySQL/))
    else await (await provider.lock(job))?.unlock()
  })

  it('are those of the client while an adapter for them opens none', async () => {
    const { prisma, database } = await openPrisma(backend)
    // mariadb asks again and again, for longer than a lock waits.
    const adapter = await database.ownAdapter({ port: 1 })
    const provider = prismaLockProvider(prisma, { adapter })
    const lock = await provider.lock(job)
    expect(lock).toBeDefined()
    await lock?.unlock()
    await provider.drain()
  })

  itIf(!isPostgres, 'an adapter that hides its settings')(
    'refuse an adapter over a pool of the app, whose transactions could undo them',
    async () => {
      const { prisma, database } = await openPrisma(backend)
      const pool = await (await database.ownAdapter()).connect?.()
      afterTest(() => pool?.dispose())
      const { PrismaMariaDb } = await import('@prisma/adapter-mariadb')
      const adapter = new PrismaMariaDb(pool?.underlyingDriver?.() as never, { useTextProtocol: true })
      const provider = prismaLockProvider(prisma, { adapter })
      await expect(provider.lock(job)).rejects.toEqual(lockError('INVALID_CLIENT', /over a pool of the app/))
    },
  )
})
