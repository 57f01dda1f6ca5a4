import { expect, it, jest } from '@jest/globals'
import {
  InMemoryLockProvider,
  KeepAliveLockProvider,
  LockingTaskExecutor,
  WaitingLockProvider,
  type Lock,
  type LockProvider,
} from '../../src/core'

const job = { name: 'job', lockAtMostFor: '10m' }

it('two providers of one storage skip a task inside of a task of the same name', async () => {
  const storage = new InMemoryLockProvider()
  const executor = () => new LockingTaskExecutor({ lock: (...request) => storage.lock(...request) })
  const result = await executor().executeWithLock(job, () => executor().executeWithLock(job, () => 1))
  expect(result).toEqual({ executed: true, value: { executed: false, reason: 'held' } })
})

it('wrappers go into each other in any order', async () => {
  const storage = new InMemoryLockProvider()
  const waiting = new WaitingLockProvider(new KeepAliveLockProvider(storage), { timeout: '1m' })
  expect(waiting.description).toBe(storage.description)
  const executor = new LockingTaskExecutor(new KeepAliveLockProvider(waiting))
  const result = await executor.executeWithLock(job, async ({ lock, signal }) => {
    await lock.extend('20m')
    storage.clear()
    await expect(lock.extend('20m')).rejects.toMatchObject({ code: 'LOCK_LOST' })
    return signal.aborted
  })
  expect(result).toEqual({ executed: true, value: true })
})

it.each([
  (inner: LockProvider) => new WaitingLockProvider(inner, { timeout: '1m' }),
  (inner: LockProvider) => new KeepAliveLockProvider(inner),
])('a wrapper passes drain() on: %s', async (wrap) => {
  const drain = jest.fn<NonNullable<LockProvider['drain']>>().mockResolvedValue()
  await wrap({ lock: () => Promise.resolve(undefined), drain }).drain({ timeout: '3s' })
  expect(drain.mock.calls).toEqual([[{ timeout: '3s' }]])
  await wrap(new InMemoryLockProvider()).drain()
})

it('a task looks at the lock of a provider of any make', async () => {
  const made = await new InMemoryLockProvider().lock({ ...job, slot: 1_000_000 })
  if (!made) throw new Error('not free')
  const { signal } = made
  const foreign: Lock = {
    name: 'foreign',
    signal,
    remaining: () => made.remaining(),
    fencingToken: () => made.fencingToken(),
    extend: (...lengths) => made.extend(...lengths),
    unlock: (options) => made.unlock(options),
    [Symbol.asyncDispose]: () => made.unlock(),
  }
  const executor = new LockingTaskExecutor({ lock: () => Promise.resolve(foreign) })
  const result = await executor.executeWithLock({ ...job, keepAlive: true }, async ({ lock }) => {
    expect(lock.name).toBe('foreign')
    expect(await lock.extend('1h')).toBe(lock)
    expect(lock.remaining()).toBeGreaterThan(3_000_000)
    return lock.fencingToken()
  })
  expect(result).toEqual({ executed: true, value: 1_000_000 })
  expect(signal.reason).toMatchObject({ code: 'NOT_LOCKED' })
})
