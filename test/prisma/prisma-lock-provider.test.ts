import { beforeEach, expect, test } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/internal'
import { prismaBackends, type TestClient } from './clients'
import { openPrisma } from './lock-table'
import { describeBackends } from '../backends'

describeBackends(prismaBackends())('Prisma on $name by $adapter', (backend) => {
  let prisma: TestClient

  beforeEach(async () => {
    ;({ prisma } = await openPrisma(backend))
  })

  test('locks can be listed, and released by the owner that was listed', async () => {
    const provider = prismaLockProvider(prisma, { lockedBy: 'me' })
    const before = Date.now() - 1000
    await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const [listed, ...others] = await provider.table.list()
    expect(others).toEqual([])
    expect(listed).toMatchObject({ name: 'job', held: true })
    expect(listed?.lockedAt.getTime()).toBeGreaterThan(before)
    // Not compared with lockedAt: PostgreSQL reads its clock for each of the two.
    expect(listed?.lockUntil.getTime()).toBeGreaterThan(before + 3_600_000)
    expect(listed?.lockUntil.getTime()).toBeLessThan(Date.now() + 1000 + 3_600_000)
    expect(listed && (await provider.table.release(listed))).toBe(true)
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeDefined()
  })
})
