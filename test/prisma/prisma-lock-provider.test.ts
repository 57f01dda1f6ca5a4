import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { prismaLockProvider, shedlock } from '../../src/prisma'
import { prismaBackends, type PrismaTestDatabase, type TestClient } from './clients'
import { createTables } from './lock-table'
import { describeBackends } from '../backends'

describeBackends(prismaBackends())('Prisma on $name by $adapter', (backend) => {
  let database: PrismaTestDatabase
  let prisma: TestClient

  beforeEach(async () => {
    database = await backend.create()
    prisma = await database.connect()
    await createTables(prisma, backend.dialect)
  })
  afterEach(() => database.drop())

  const held = async (): Promise<boolean> => {
    const other = prismaLockProvider(prisma)
    const lock = await other.lock({ name: 'job', lockAtMostFor: '1m' })
    await lock?.unlock()
    return lock === undefined
  }

  test('one of two gets the lock, and the other after its unlock', async () => {
    const provider = prismaLockProvider(prisma)
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    expect(lock).toBeDefined()
    expect(await held()).toBe(true)
    const longer = await lock?.extend('2m')
    expect(await held()).toBe(true)
    await longer?.unlock()
    expect(await held()).toBe(false)
  })

  test('locks can be listed, and released by the owner that was listed', async () => {
    const provider = prismaLockProvider(prisma, { lockedBy: 'me' })
    const before = Date.now() - 1000
    await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const [listed, ...others] = await provider.listLocks()
    expect(others).toEqual([])
    expect(listed).toMatchObject({ name: 'job', held: true })
    expect(listed?.lockedAt.getTime()).toBeGreaterThan(before)
    // Not compared with lockedAt: PostgreSQL reads its clock for each of the two.
    expect(listed?.lockUntil.getTime()).toBeGreaterThan(before + 3_600_000)
    expect(listed?.lockUntil.getTime()).toBeLessThan(Date.now() + 1000 + 3_600_000)
    expect(listed && (await provider.releaseLock('job', listed.lockedBy))).toBe(true)
    expect(await held()).toBe(false)
  })

  test('one of many gets the lock', async () => {
    const provider = prismaLockProvider(prisma)
    for (let round = 0; round < 10; round++) {
      const locks = await Promise.all(
        Array.from({ length: 8 }, () => provider.lock({ name: 'job', lockAtMostFor: '1m' })),
      )
      const winners = locks.filter((lock) => lock !== undefined)
      expect(winners).toHaveLength(1)
      await winners[0]?.unlock()
    }
  })

  test('the extension runs a task under the lock', async () => {
    const extended = prisma
      .$extends({
        query: {
          $allOperations: ({ args, query }: { args: unknown; query: (args: unknown) => unknown }) =>
            query(args),
        },
      })
      .$extends(shedlock({ defaultLockAtMostFor: '1m' }))
    const result = await extended.$executeWithLock({ name: 'job' }, () => held())
    expect(result).toEqual({ executed: true, value: true })
    expect(await held()).toBe(false)
  })
})
