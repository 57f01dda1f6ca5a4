import { expect, it, jest } from '@jest/globals'
import type { LockError } from '../../src/core/internal'
import { dialects, DriverError, SqlLockProvider } from '../../src/sql/internal'
import type { Fault } from '../unreliable-client'
import { job, MINUTE, network, other, provider, SECOND, settle, useVirtualTime } from './on-virtual-time'

useVirtualTime()

/** Its row exists, so that it is acquired with one write. */
const known = { ...job('first'), lockAtMostFor: MINUTE }

const later = (milliseconds: number | undefined) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))
/** Reads are answered at once. */
const slowWrites: Fault = async (send, isWrite) => {
  if (isWrite) await later(500)
  return send()
}
const busyAfter = (milliseconds: number) => async () => {
  await later(milliseconds)
  throw new DriverError('SQLITE_BUSY', 'database is locked')
}

it('a lease counts from before the request, less a millisecond to which the database cuts its clock; an extension too, which never shortens it', async () => {
  network.fault = slowWrites
  const lock = await settle(provider.lock(known), 500)
  expect(lock?.remaining()).toBe(59_499)
  await settle(Promise.resolve(lock?.extend(2 * MINUTE)), 500)
  expect(lock?.remaining()).toBe(119_499)
  await settle(Promise.resolve(lock?.extend(MINUTE)), 500)
  expect(lock?.remaining()).toBe(118_999)
})

it('a lease counts from the second attempt that acquired it, even if the first took longer than the lease', async () => {
  network.next = busyAfter(2 * SECOND)
  const lock = await settle(provider.lock({ ...known, lockAtMostFor: SECOND }), 2_010)
  expect(lock?.remaining()).toBeGreaterThan(900)
})

it.each([
  ['at once', undefined],
  ['at the second attempt', busyAfter(500)],
])(
  'the record of a run whose lock stays held ends with the run, and not with the row, which began before the answer: released %s',
  async (_, fault) => {
    network.fault = slowWrites
    const lock = await settle(provider.lock({ ...known, lockAtLeastFor: MINUTE }), 500)
    await jest.advanceTimersByTimeAsync(SECOND)
    network.next = fault
    await settle(Promise.resolve(lock?.unlock({ outcome: 'succeeded' })), 2 * SECOND)
    expect(network.sent).toHaveLength(fault ? 3 : 2)
    // The row ends 60 s after the request; the run ended 1.5 s after it.
    expect((await other.table.find('first'))?.lockedBy).toMatch(/\/1000\+58500 succeeded$/)
  },
)

it.each([
  ['a new lockAtLeastFor, from the acquisition on', [120_000, 90_000], 80_000],
  ['no lockAtLeastFor, so that it stays', [120_000, undefined], 50_000],
  ['less than what is left, which changes nothing', [1_000, undefined], 50_000],
] as const)('an extension has %s', async (_, [atMost, atLeast], kept) => {
  const lock = await provider.lock({ ...known, lockAtLeastFor: MINUTE })
  await lock?.extend(atMost, atLeast)
  await jest.advanceTimersByTimeAsync(10 * SECOND)
  await lock?.unlock({ outcome: 'succeeded' })
  expect((await other.table.find('first'))?.lockedBy).toMatch(new RegExp(`/10000\\+${kept} succeeded$`))
})

const NEVER = 0

it.each<[when: string, code: string, pauses: number[], rest?: { slot?: number; isReadOnly?: boolean }]>([
  ['the table was looked at before it', 'TIMEOUT', [700, 700, NEVER]],
  ['an error is explained by the table', 'DATABASE_ERROR', [0, 0, 700, 700, NEVER], { isReadOnly: true }],
  ['the clock is read that its slot is ahead of', 'TIMEOUT', [0, 700, 700, NEVER], { slot: 4e12 }],
  ['it learns only afterwards that its slot is too far ahead', 'TIMEOUT', [0, 1_400, NEVER], { slot: 4e12 }],
])(
  'a lock whose statements are slow ends within the time limit and sends nothing more, also if %s',
  async (_, code, pauses, { slot, isReadOnly = false } = {}) => {
    network.fault = async (send, isWrite) => {
      await later(pauses.shift())
      if (isWrite && isReadOnly) throw new DriverError('SQLITE_READONLY', 'a readonly database')
      return send()
    }
    const started = Date.now()
    const ended = new SqlLockProvider(network, dialects.sqlite, { timeLimit: SECOND })
      .lock({ ...known, slot })
      .then(String, (error: unknown) => [(error as LockError).code, Date.now() - started])
    expect(await settle(ended, 10 * SECOND)).toEqual([code, SECOND])
    expect(pauses).toEqual([NEVER])
  },
)
