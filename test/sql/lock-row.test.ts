import { expect, it, jest } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { DriverError } from '../../src/sql/internal'
import type { Fault } from '../unreliable-client'
import { expectFailure, job, MINUTE, SECOND, settle, useVirtualTime } from './on-virtual-time'

const world = useVirtualTime()

/** Its row exists, so that it is acquired with one write. */
const known = { ...job('first'), lockAtMostFor: MINUTE }

const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
/** Reads are answered at once. */
const slowWrites: Fault = async (send, isWrite) => {
  if (isWrite) await later(500)
  return send()
}
const busyAfter = (milliseconds: number) => async () => {
  await later(milliseconds)
  throw new DriverError('SQLITE_BUSY', 'database is locked')
}

it('a lease, also of an extension, counts from before the request, less the millisecond of the clock', async () => {
  world.network.fault = slowWrites
  const lock = await settle(world.provider.lock(known), 500)
  expect(lock?.remaining()).toBe(59_499)
  await settle(Promise.resolve(lock?.extend(2 * MINUTE)), 500)
  expect(lock?.remaining()).toBe(119_499)
  await settle(Promise.resolve(lock?.extend(MINUTE)), 500)
  expect(lock?.remaining()).toBe(118_999)
})

it('a lease counts from the second attempt that acquired it, even if the first took longer than the lease', async () => {
  world.network.next = busyAfter(2 * SECOND)
  const lock = await settle(world.provider.lock({ ...known, lockAtMostFor: SECOND }), 2_010)
  expect(lock?.remaining()).toBeGreaterThan(900)
})

it.each([
  ['at once', undefined],
  ['at the second attempt', busyAfter(500)],
])('the record of a run ends with it, not with a row that stays held: released %s', async (_, fault) => {
  world.network.fault = slowWrites
  const lock = await settle(world.provider.lock({ ...known, lockAtLeastFor: MINUTE }), 500)
  await jest.advanceTimersByTimeAsync(SECOND)
  world.network.next = fault
  await settle(Promise.resolve(lock?.unlock({ outcome: 'succeeded' })), 2 * SECOND)
  expect(world.network.sent).toHaveLength(fault ? 3 : 2)
  // The row ends 60 s after the request; the run ended 1.5 s after it.
  expect((await world.other.table.find('first'))?.lockedBy).toMatch(/\/1000\+58500 succeeded$/)
})

it('a run that failed after its lease has its own error in the record', async () => {
  const run = new LockingTaskExecutor(world.provider).executeWithLock(
    { ...known, lockAtMostFor: SECOND },
    async () => {
      await later(2 * SECOND)
      throw new RangeError('late')
    },
  )
  await expectFailure(run, { message: 'late' }, 2 * SECOND)
  expect((await world.other.table.find('first'))?.lastRun?.error).toBe('RangeError')
})

it.each([
  ['a new lockAtLeastFor, from the acquisition on', [120_000, 90_000], 80_000],
  ['no lockAtLeastFor, so that it stays', [120_000, undefined], 50_000],
  ['less than what is left, which changes nothing', [1_000, undefined], 50_000],
] as const)('an extension has %s', async (_, [atMost, atLeast], kept) => {
  const lock = await world.provider.lock({ ...known, lockAtLeastFor: MINUTE })
  await jest.advanceTimersByTimeAsync(4 * SECOND)
  await lock?.extend(atMost, atLeast)
  await jest.advanceTimersByTimeAsync(6 * SECOND)
  await lock?.unlock({ outcome: 'succeeded' })
  expect((await world.other.table.find('first'))?.lockedBy).toMatch(new RegExp(`/10000\\+${kept} succeeded$`))
})
