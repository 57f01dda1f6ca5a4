import { expect, it } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'
import { providerOf } from './provider-of'

const job = { name: 'job', lockAtMostFor: '10m' }

it('two providers of one storage skip a task inside of a task of the same name', async () => {
  const storage = new InMemoryLockProvider()
  const executor = () => new LockingTaskExecutor(providerOf((wanted) => storage.acquire(wanted)))
  const result = await executor().executeWithLock(job, () => executor().executeWithLock(job, () => 1))
  expect(result).toEqual({ executed: true, value: { executed: false, reason: 'held' } })
})

it('a provider around another passes on what it acquired, frozen or not', async () => {
  const storage = new InMemoryLockProvider()
  const around = providerOf(async (wanted) => Object.freeze(await storage.acquire(wanted)))
  const executor = new LockingTaskExecutor(around)
  const run = executor.executeWithLock({ ...job, keepAlive: true, slot: 1_000_000 }, async ({ lock }) => {
    await lock.extend('1h')
    expect(lock.remaining()).toBeGreaterThan(3_000_000)
    expect(storage.isLocked('job')).toBe(true)
    return lock.fencingToken()
  })
  expect(await run).toEqual({ executed: true, value: 1_000_000 })
  expect(storage.isLocked('job')).toBe(false)
})
