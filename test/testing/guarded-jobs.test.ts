import { afterEach, describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, Lease, LockingTaskExecutor, makeAllAssertsPass } from '../../src/core/internal'
import { guard as prisma8Guard } from '../../src/prisma-8/prisma-8-lock-provider'
import { guard as prismaGuard } from '../../src/prisma/guard'
import { guard as sqlGuard } from '../../src/sql/guard'
import { alwaysFree, assumeLocked, FakeClock } from '../../src/testing/unit-test-support'
import { guard as typeOrmGuard } from '../../src/typeorm/guard'
import { providerOf } from '../core/provider-of'

/** Each guard with a transaction that fails whatever is asked of it: a unit test has none. */
const mock = {} as never
const guards = {
  TypeORM: () => typeOrmGuard(mock),
  Prisma: () => prismaGuard(mock),
  'Prisma 8': () => prisma8Guard(mock),
  SQL: () => sqlGuard(mock),
}
const job = { name: 'job', lockAtMostFor: '10m' }

describe.each(Object.entries(guards))('a job with the guard of %s', (_name, guard) => {
  afterEach(() => makeAllAssertsPass(false))

  it('passes with assumeLocked, alwaysFree() and an InMemoryLockProvider, also in a nested task', async () => {
    await assumeLocked(guard)
    for (const provider of [alwaysFree(), new InMemoryLockProvider()]) {
      const executor = new LockingTaskExecutor(provider)
      await executor.executeWithLock(job, async () => {
        await guard()
        await executor.executeWithLock(job, guard)
      })
    }
  })

  it('passes without a lock after makeAllAssertsPass(true)', async () => {
    await expect(guard()).rejects.toMatchObject({ code: 'NOT_LOCKED' })
    makeAllAssertsPass(true)
    await guard()
  })

  it.each(['the lease is over', 'the locks were cleared'])('fails with LOCK_LOST if %s', async (lost) => {
    const clock = new FakeClock()
    const provider = new InMemoryLockProvider(clock)
    await new LockingTaskExecutor(provider, { listeners: [{ onLockLost: () => undefined }] }).executeWithLock(
      job,
      async () => {
        if (lost === 'the lease is over') clock.advance('10m')
        else provider.clear()
        await expect(guard()).rejects.toMatchObject({ code: 'LOCK_LOST', lockName: 'job' })
      },
    )
  })

  it('is refused with a lock of another storage, which cannot keep a stale commit out', async () => {
    const provider = providerOf(() =>
      Promise.resolve({
        lease: new Lease(60_000),
        extend: () => Promise.resolve(undefined),
        fencingToken: () => Promise.resolve(1),
        unlock: () => Promise.resolve(),
      }),
    )
    await new LockingTaskExecutor(provider).executeWithLock(job, async () => {
      await expect(guard()).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
    })
  })
})
