import { expect, it, jest } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { dialects, DriverError, SqlLockProvider } from '../../src/sql/internal'
import type { Fault } from '../unreliable-client'
import {
  expectFailure,
  held,
  HOUR,
  job,
  LIMIT,
  MINUTE,
  network,
  other,
  provider,
  SECOND,
  settle,
  useVirtualTime,
} from './on-virtual-time'

useVirtualTime()

const HELD = { executed: false, reason: 'held' }
const ALREADY_RUN = { executed: false, reason: 'already-run' }
type Delivery = Extract<Fault, (...all: never[]) => unknown>
const send: Delivery = (deliver) => deliver()
const nothing: Delivery = () => Promise.resolve({ rows: [] })
/** Somebody else acquires the slot again before the statement is delivered. */
const acquiredFirst: Delivery = async (deliver) => {
  expect(await other.lock(slot())).toBeDefined()
  return deliver()
}
const slot = () => ({ ...job(), slot: 1_700_000_000_000, untilSucceeded: true })
const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const BUSY = new DriverError('SQLITE_BUSY', 'database is locked')
/** Delivers no writes. */
const swallowing: Fault = (send, isWrite) => (isWrite ? new Promise(() => undefined) : send())

it('an extension whose request got lost is sent again before the lease is over', async () => {
  const lock = await provider.lock({ ...job(), lockAtMostFor: 5 * SECOND })
  network.next = 'late'
  await settle(Promise.resolve(lock?.extend(HOUR)), 3 * SECOND)
  expect(lock?.remaining()).toBeGreaterThan(HOUR / 2)
})

it.each<[string, 'failed' | 'succeeded', Delivery[], object]>([
  ['has already run if it succeeded', 'succeeded', [send], ALREADY_RUN],
  ['has already run if its row is gone when it is read again', 'failed', [send, nothing], ALREADY_RUN],
  [
    'is held if somebody else is faster before it is read again',
    'failed',
    [send, acquiredFirst],
    { ...HELD, holder: expect.anything() },
  ],
  ['is held if somebody else is faster before it is written', 'failed', [send, send, acquiredFirst], HELD],
])('a slot %s', async (_, outcome, faults, result) => {
  await (await provider.lock(slot()))?.unlock({ outcome })
  network.fault = (...all) => (faults.shift() ?? send)(...all)
  const run = new LockingTaskExecutor(provider).executeWithLock(slot(), () => undefined)
  expect(await settle(run, SECOND)).toMatchObject(result)
})

it('a read whose answer got lost is sent again', async () => {
  const faults = [() => new Promise<never>(() => undefined)]
  network.fault = (send) => (faults.pop() ?? send)()
  expect(await settle(provider.table.find('first'), 3 * SECOND)).toMatchObject({ held: false })
})

it('an extension ends with the lease, however long the time limit is', async () => {
  const patient = new SqlLockProvider(network, dialects.sqlite, { timeLimit: HOUR })
  const lock = await patient.lock({ ...job(), lockAtMostFor: 2 * SECOND })
  network.fault = swallowing
  const message = expect.stringMatching(/no more was left of its lease\. Extend it earlier/)
  await expectFailure(lock?.extend(HOUR), { code: 'TIMEOUT', message }, 2 * SECOND)
})

it('all attempts together have one time limit, and what was in the way of the first is reported', async () => {
  network.fault = swallowing
  network.next = async () => {
    await later(LIMIT / 2)
    throw BUSY
  }
  await expectFailure(provider.lock(job()), { code: 'TIMEOUT', message: expect.stringContaining('too busy') })
  expect(network.sent).toHaveLength(2)
})

it('a pause whose request arrives late has no effect once the pause was ended', async () => {
  await (await other.lock(job()))?.unlock()
  network.next = 'late'
  await expectFailure(provider.table.pause('job', { duration: '8h', reason: 'late' }), { code: 'TIMEOUT' })
  await other.table.resume('job')
  await network.deliver()
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(await held()).toEqual([])
})

it('a lock is released although the answer got lost and its connection never reports an error', async () => {
  network.next = async (send) => {
    await send()
    return new Promise(() => undefined)
  }
  await expectFailure(provider.lock(job()), { code: 'TIMEOUT' })
  await jest.advanceTimersByTimeAsync(MINUTE)
  expect(await held()).toEqual([])
})
