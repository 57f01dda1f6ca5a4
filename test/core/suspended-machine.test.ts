import os from 'node:os'
import { beforeEach, expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { startVirtualTime } from './virtual-time'

const HOUR = 3_600_000
const LEASE = 600_000
const job = { name: 'job', lockAtMostFor: LEASE }

let year = 2030
/** How long the machine has been on, in milliseconds. */
let uptime: number

beforeEach(() => {
  uptime = 1_000_000
  jest.spyOn(os, 'uptime').mockImplementation(() => uptime / 1_000)
  // So far from the clock of the test before that the jump between them is not ignored as a slew.
  startVirtualTime({ now: Date.UTC(year++) })
})

/** The wall clock and the uptime jump ahead. The monotonic clock stands still meanwhile. */
function jump(wall: number, booted: number): void {
  uptime += booted
  jest.setSystemTime(Date.now() + wall)
}

it('a lease is over if the machine was suspended for longer, and the signal of the task aborts soon', async () => {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider())
  await executor.executeWithLock(job, async ({ lock, signal }) => {
    expect(lock.remaining()).toBe(LEASE)
    jump(HOUR, HOUR)
    const aborted = jest.fn()
    signal.addEventListener('abort', aborted)
    // A timer wakes up after a sixteenth of the lease, at least ten seconds.
    await jest.advanceTimersByTimeAsync(LEASE / 16 - 1)
    expect(aborted).not.toHaveBeenCalled()
    await jest.advanceTimersByTimeAsync(1)
    expect(aborted).toHaveBeenCalled()
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST' })
  })
})

it.each([
  ['a suspension', HOUR, HOUR, HOUR],
  ['a suspension before which the clock was set ahead', HOUR, LEASE / 2, LEASE / 2],
  ['a clock that is set ahead', HOUR, 0, 0],
  ['a clock that is set back', -HOUR, 0, 0],
  ['a jump as far as a clock is slewed', 50, 50, 0],
  ['a clock that is set while it is slewed', 51, 50, 0],
  ['a short suspension', 51, 51, 51],
])('of the lease, %s takes only what the machine slept', async (_, wall, booted, slept) => {
  const lock = await new InMemoryLockProvider().lock(job)
  jump(wall, booted)
  expect(lock?.remaining()).toBe(Math.max(0, LEASE - slept))
  await jest.advanceTimersByTimeAsync(1_000)
  expect(lock?.remaining()).toBe(Math.max(0, LEASE - slept - 1_000))
  jump(LEASE, LEASE)
  expect(lock?.remaining()).toBe(0)
})

it('a suspension is noticed again after the uptime could not be read for a while', async () => {
  const lock = await new InMemoryLockProvider().lock(job)
  jest.spyOn(os, 'uptime').mockImplementationOnce(() => {
    throw new Error('not permitted')
  })
  jump(HOUR, 0)
  expect(lock?.remaining()).toBe(LEASE)
  jump(HOUR, HOUR)
  expect(lock?.remaining()).toBe(0)
})

it('a process that others interrupt while it reads its clocks was not suspended', async () => {
  const lock = await new InMemoryLockProvider().lock(job)
  const { now } = Date
  // On a busy machine, between one clock and the next.
  jest.spyOn(Date, 'now').mockImplementationOnce(() => {
    jest.advanceTimersByTime(500)
    uptime += 500
    return now()
  })
  lock?.remaining()
  expect(lock?.remaining()).toBe(599_500)
  jest.advanceTimersByTime(500)
  expect(lock?.remaining()).toBe(599_000)
})

it.each([
  ['at once if one of five readings is not interrupted', 4, 0],
  ['at the next look otherwise', 5, LEASE - 60],
])('a suspension is noticed %s', async (_, interruptions, remaining) => {
  const lock = await new InMemoryLockProvider().lock(job)
  jump(HOUR, HOUR)
  const { now } = Date
  // The first look at the clock only shows that it has jumped.
  let left = 1 + interruptions
  jest.spyOn(Date, 'now').mockImplementation(() => {
    const read = now()
    if (left-- > 0) jest.advanceTimersByTime(10)
    return read
  })
  expect(lock?.remaining()).toBe(remaining)
  expect(lock?.remaining()).toBe(0)
})
