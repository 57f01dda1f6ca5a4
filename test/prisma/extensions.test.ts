import { beforeEach, expect, jest, test } from '@jest/globals'
import { readReplicas } from '@prisma/extension-read-replicas'
import { assertLocked } from '../../src/core/scope'
import { guard } from '../../src/prisma/guard'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider, shedlock, type ShedLockClient } from '../../src/prisma/prisma-lock-provider'
import { prismaBackends, type TestClient } from './clients'
import { openPrisma } from './lock-table'
import { describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'

/** Extensions have nothing to do with adapters, nor with databases but for SQLite's one writer. */
const backends = prismaBackends().filter(
  ({ name, adapter }) => name === 'postgres' || (name === 'sqlite' && adapter !== 'libsql'),
)

describeBackends(backends)('client extensions on $name', (backend) => {
  let prisma: TestClient

  beforeEach(async () => {
    ;({ prisma } = await openPrisma(backend))
  })

  const isFree = async (client: PrismaClientLike): Promise<boolean> => {
    const lock = await prismaLockProvider(client).lock({ name: 'job', lockAtMostFor: '1m' })
    await lock?.unlock()
    return lock !== undefined
  }

  const locking = () => shedlock({ defaultLockAtMostFor: '1m' })

  test('shedlock adds its members, before and behind other extensions', async () => {
    const pass = (all: { args: unknown; query: (args: unknown) => unknown }) => all.query(all.args)
    const unchanged = { query: { $allOperations: pass } }
    const other = { client: { $other: () => 'other' } }
    const clients = [
      prisma.$extends(locking()),
      prisma.$extends(other).$extends(unchanged).$extends(locking()),
      prisma.$extends(locking()).$extends(unchanged).$extends(other) as never,
    ] as (TestClient & ShedLockClient)[]
    for (const client of clients) {
      const execute = (task: () => unknown) => client.$executeWithLock({ name: 'job' }, task)
      const result = await execute(() => {
        assertLocked()
        return isFree(prisma)
      })
      expect(result).toEqual({ executed: true, value: false })
      expect(await isFree(prisma)).toBe(true)

      const wrapped = client.$wrapWithLock(
        { name: 'job', lockAtLeastFor: 0 },
        (left: number, right: number) => left + right,
      )
      expect(await wrapped(1, 2)).toEqual({ executed: true, value: 3 })

      const lock = await client.$lockProvider.lock({ name: 'job', lockAtMostFor: '1m' })
      expect(await execute(() => 'never')).toMatchObject({ executed: false, reason: 'held' })
      await lock?.unlock()

      expect(await client.$lockingTaskExecutor.shutdown()).toEqual([])
      expect(await execute(() => 'never')).toMatchObject({ executed: false, reason: 'shutdown' })
    }
    const atLeast = prisma.$extends(shedlock({ defaultLockAtMostFor: '1m', defaultLockAtLeastFor: '1m' }))
    await atLeast.$executeWithLock({ name: 'job' }, () => undefined)
    expect(await isFree(prisma)).toBe(false)
  })

  test('$disconnect waits for releases in the background', async () => {
    const { prisma: own } = await openPrisma(backend)
    const client = own.$extends(locking())
    const events: string[] = []
    client.$lockProvider.drain = async () => {
      await own.$queryRawUnsafe('select 1')
      events.push('drained')
    }
    const disconnect = own.$disconnect.bind(own)
    jest.spyOn(own, '$disconnect').mockImplementation(() => {
      events.push('disconnected')
      return disconnect()
    })
    await client.$disconnect()
    expect(events).toEqual(['drained', 'disconnected'])
  })

  test('all extensions of a client share what its pool allows: ten attempts at once', async () => {
    if (backend.dialect === 'sqlite') return
    const { _originalClient: client } = prisma as unknown as { _originalClient: PrismaClientLike }
    const query = client.$queryRawUnsafe.bind(client)
    let [underWay, most] = [0, 0]
    client.$queryRawUnsafe = (...all) => {
      most = Math.max(most, ++underWay)
      return query(...all).then((rows) => (underWay--, rows))
    }
    // Thirty tables are looked at, for which a busy machine has taken five seconds.
    const options = { ownConnections: 0, timeLimit: '1m' } as const
    const lock = (_: unknown, each: number) =>
      prismaLockProvider(prisma.$extends({}), options).lock({
        name: `job ${each}`,
        lockAtMostFor: '1m',
      })
    await Promise.all(Array.from({ length: 30 }, lock))
    expect(most).toBe(10)
  })

  test('a task may be run by the extended client of a transaction, and its rollback leaves the lock alone', async () => {
    if (backend.dialect === 'sqlite') return
    const extended = prisma.$extends(locking())
    let lock
    await expect(
      extended.$transaction(async (transaction) => {
        lock = await (transaction as unknown as typeof extended).$lockProvider.lock({
          name: 'job',
          lockAtMostFor: '1m',
        })
        throw new Error('rolled back')
      }),
    ).rejects.toThrow('rolled back')
    expect(lock).toBeDefined()
    expect(await isFree(prisma)).toBe(false)
  })

  const withReplica = (replica: TestClient) => (client: TestClient) =>
    client.$extends(readReplicas({ replicas: [replica as never] }))

  test('beside a replica the primary is asked, also if an extension sends it everything', async () => {
    const { database } = await openDatabase(backend)
    const replica = await database.connect()
    const everything = prisma.$extends({
      query: {
        $queryRawUnsafe: ({ args }: { args: [string, ...unknown[]] }) => replica.$queryRawUnsafe(...args),
      },
    })
    await expect(everything.$queryRawUnsafe('select * from shedlock')).rejects.toThrow()
    for (const [index, client] of [everything, withReplica(replica)(prisma)].entries()) {
      const [name, extended] = [`job ${index}`, `extended ${index}`]
      expect(await prismaLockProvider(client).lock({ name, lockAtMostFor: '1m' })).toBeDefined()
      const { $lockProvider } = client.$extends(locking())
      expect(await $lockProvider.lock({ name: extended, lockAtMostFor: '1m' })).toBeDefined()
    }
    expect(await prisma.$queryRawUnsafe('select * from shedlock')).toHaveLength(4)
  })

  test('the client of a transaction is refused but can be guarded, also under an extension that adds a $connect', async () => {
    const lock = await prismaLockProvider(prisma).lock({ name: 'job', lockAtMostFor: '1m' })
    for (const client of [prisma, withReplica(prisma)(prisma)])
      await client.$transaction(async (transaction) => {
        expect(() => prismaLockProvider(transaction as PrismaClientLike)).toThrow(lockError('INVALID_CLIENT'))
        await guard(transaction, lock)
      })
  })
})
