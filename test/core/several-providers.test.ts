import { expect, it } from '@jest/globals'
import {
  InMemoryLockProvider,
  KeepAliveLockProvider,
  LockingTaskExecutor,
  TrackingLockProvider,
  WaitingLockProvider,
} from '../../src/core'

const job = { name: 'job', lockAtMostFor: '10m' }

it('two providers in one process hold the same name apart', async () => {
  const [one, other] = [new InMemoryLockProvider(), new InMemoryLockProvider()]
  const result = await new LockingTaskExecutor(one).executeWithLock(job, () =>
    new LockingTaskExecutor(other).executeWithLock(job, () => [one.isLocked('job'), other.isLocked('job')]),
  )
  expect(result).toEqual({ executed: true, value: { executed: true, value: [true, true] } })
})

it('wrappers go into each other in any order', async () => {
  const storage = new InMemoryLockProvider()
  const tracking = new TrackingLockProvider(new KeepAliveLockProvider(storage))
  const executor = new LockingTaskExecutor(new WaitingLockProvider(tracking, { timeout: '1m' }))
  const result = await executor.executeWithLock(job, async ({ lock, signal }) => {
    await lock.extend('20m')
    expect(tracking.activeLocks.map(({ name }) => name)).toEqual(['job'])
    await tracking.releaseAll()
    expect(signal.reason).toMatchObject({ code: 'SHUTDOWN' })
    return storage.isLocked('job')
  })
  expect(result).toEqual({ executed: true, value: false })
  expect(tracking.activeLocks).toEqual([])
})
