import os from 'node:os'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'

const HOUR = 3_600_000
const job = { name: 'job', lockAtMostFor: '10m' }

beforeEach(() => {
  jest.useFakeTimers()
})

afterEach(() => {
  jest.restoreAllMocks()
  jest.useRealTimers()
})

/** The monotonic clock stands still meanwhile. */
function suspendMachine(): void {
  const before = os.uptime()
  jest.spyOn(os, 'uptime').mockImplementation(() => before + HOUR / 1_000)
  jest.setSystemTime(Date.now() + HOUR)
}

it('a lease is over if the machine was suspended for longer, and the signal of the task aborts soon', async () => {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider())
  await executor.executeWithLock(job, async ({ lock, signal }) => {
    expect(lock.remaining()).toBe(600_000)
    suspendMachine()
    expect(lock.remaining()).toBe(0)
    const aborted = jest.fn()
    signal.addEventListener('abort', aborted)
    // A sixteenth of the lease, at least ten seconds.
    await jest.advanceTimersByTimeAsync(600_000 / 16)
    expect(aborted).toHaveBeenCalled()
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST' })
  })
})

it.each([HOUR, -HOUR])('a wall clock that is set by %d ms loses no lock, and prolongs none', async (by) => {
  const lock = await new InMemoryLockProvider().lock(job)
  jest.setSystemTime(Date.now() + by)
  expect(lock?.remaining()).toBe(600_000)
  await jest.advanceTimersByTimeAsync(1_000)
  expect(lock?.remaining()).toBe(599_000)
})

it('a process that others interrupt while it reads its clocks was not suspended', async () => {
  const lock = await new InMemoryLockProvider().lock(job)
  const { now } = Date
  const booted = os.uptime()
  // On a busy machine, between one clock and the next.
  jest.spyOn(Date, 'now').mockImplementationOnce(() => {
    jest.advanceTimersByTime(500)
    jest.spyOn(os, 'uptime').mockImplementation(() => booted + 0.5)
    return now()
  })
  lock?.remaining()
  expect(lock?.remaining()).toBe(599_500)
  jest.advanceTimersByTime(500)
  expect(lock?.remaining()).toBe(599_000)
})
