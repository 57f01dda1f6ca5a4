import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type LockError, LockingTaskExecutor, time } from '../../src/core/internal'
import { dialects, DriverError, SqlLockProvider } from '../../src/sql/internal'
import type { Fault } from '../unreliable-client'
import { expectFailure, HOUR, job, LIMIT, MINUTE, SECOND, settle, useVirtualTime } from './on-virtual-time'

const world = useVirtualTime()

/** Its row exists, so that it is acquired with one write. */
const known = { ...job('first'), lockAtMostFor: MINUTE }

const later = (milliseconds: number | undefined) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))
const busyAfter =
  (milliseconds: number, sent?: boolean, message = 'database is locked') =>
  async () => {
    await later(milliseconds)
    throw new DriverError('SQLITE_BUSY', message, sent)
  }

const HELD = { executed: false, reason: 'held' }
const ALREADY_RUN = { executed: false, reason: 'already-run' }
type Delivery = Extract<Fault, (...all: never[]) => unknown>
const send: Delivery = (deliver) => deliver()
const nothing: Delivery = () => Promise.resolve({ rows: [] })
/** Somebody else acquires the slot again before the statement is delivered. */
const acquiredFirst: Delivery = async (deliver) => {
  expect(await world.other.lock(slot())).toBeDefined()
  return deliver()
}
const slot = () => ({ ...job(), slot: 1_700_000_000_000, untilSucceeded: true })
/** Delivers no writes. */
const swallowing: Fault = (send, isWrite) => (isWrite ? new Promise(() => undefined) : send())

describe('A process that stood still for longer than the time limit', () => {
  let stoodStill: number

  beforeEach(() => {
    const now = time.now.bind(time)
    stoodStill = 0
    jest.spyOn(time, 'now').mockImplementation(() => now() + stoodStill)
  })

  /** Delivers a write while the process stands still, and answers it after so many milliseconds. */
  const answeredAfter = (milliseconds: number, answer: Delivery): void => {
    world.network.fault = async (send, isWrite) => {
      if (!isWrite || stoodStill > 0) return send()
      stoodStill = 10 * SECOND
      await later(milliseconds)
      return answer(send, isWrite, {})
    }
  }

  it('waits for an answer a while longer', async () => {
    answeredAfter(LIMIT + SECOND, send)
    expect(await settle(world.provider.lock(known), LIMIT + SECOND)).toBeDefined()
  })

  it('does not send a read again whose answer it has not read yet', async () => {
    await world.provider.table.find('first')
    let reads = 0
    world.network.fault = async (send) => {
      reads++
      stoodStill = 10 * SECOND
      await later(LIMIT / 2 + SECOND)
      return send()
    }
    await settle(world.provider.table.find('first'), LIMIT)
    expect(reads).toBe(1)
  })

  it('gives up at last', async () => {
    answeredAfter(2 * LIMIT + 1, send)
    await expectFailure(world.provider.lock(known), { code: 'TIMEOUT' }, 2 * LIMIT)
    await settle(Promise.resolve(), LIMIT)
  })

  it('repeats what its answer calls for', async () => {
    answeredAfter(0, busyAfter(0))
    expect(await settle(world.provider.lock(known), 100)).toBeDefined()
  })
})

it('writes that change nothing are no error, unless they are in a row', async () => {
  const lock = await world.provider.lock(known)
  for (let extensions = 0; extensions < 6; extensions++) {
    world.network.next = () => Promise.resolve({ rows: [], changed: 0 })
    await settle(Promise.resolve(lock?.extend(MINUTE)), SECOND)
  }
})

const NEVER = 0

it.each<[when: string, code: string, pauses: number[], rest?: { slot?: number; isReadOnly?: boolean }]>([
  ['the table was looked at before it', 'TIMEOUT', [400, 700, 700, NEVER]],
  ['an error is explained by the table', 'DATABASE_ERROR', [0, 0, 700, 700, NEVER], { isReadOnly: true }],
  ['the clock is read that its slot is ahead of', 'TIMEOUT', [0, 700, 700, NEVER], { slot: 4e12 }],
  [
    'it learns only afterwards that its slot is too far ahead',
    'TIMEOUT',
    [0, 1_400, 0, 1_400, NEVER],
    { slot: 4e12 },
  ],
])(
  'a lock whose statements are slow ends within the time limit and sends nothing more, also if %s',
  async (_, code, pauses, { slot, isReadOnly = false } = {}) => {
    world.network.fault = async (send, isWrite) => {
      await later(pauses.shift())
      if (isWrite && isReadOnly) throw new DriverError('SQLITE_READONLY', 'a readonly database')
      return send()
    }
    const started = Date.now()
    const ended = new SqlLockProvider(world.network, dialects.sqlite, { timeLimit: SECOND })
      .lock({ ...known, slot })
      .then(String, (error: unknown) => [(error as LockError).code, Date.now() - started <= SECOND])
    expect(await settle(ended, 10 * SECOND)).toEqual([code, true])
    expect(pauses).toEqual([NEVER])
  },
)

it('an extension whose request got lost is sent again before the lease is over', async () => {
  const lock = await world.provider.lock({ ...job(), lockAtMostFor: 5 * SECOND })
  world.network.next = 'late'
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
  await (await world.provider.lock(slot()))?.unlock({ outcome })
  world.network.fault = (...all) => (faults.shift() ?? send)(...all)
  const run = new LockingTaskExecutor(world.provider).executeWithLock(slot(), () => undefined)
  expect(await settle(run, SECOND)).toMatchObject(result)
})

it('a read whose answer got lost is sent again, and its error names its lock', async () => {
  const faults = [() => new Promise<never>(() => undefined)]
  world.network.fault = (send) => (faults.pop() ?? send)()
  expect(await settle(world.provider.table.find('first'), 3 * SECOND)).toMatchObject({ held: false })
  world.network.fault = () => Promise.reject(new DriverError('refused', 'no memory left'))
  await expect(world.provider.table.find('first')).rejects.toMatchObject({ lockName: 'first' })
})

it('an acquisition whose answer got lost is not sent again', async () => {
  let acquisitions = 0
  world.network.fault = async (send, isWrite, values) => {
    if (!isWrite || !('lockAtMostFor' in values)) return send()
    throw new DriverError(undefined, `ECONNRESET ${++acquisitions}`)
  }
  await expectFailure(world.provider.lock(known), { code: 'DATABASE_ERROR' })
  expect(acquisitions).toBe(1)
})

it.each<[string, Fault]>([
  ['within 1999 ms – no more was left of its lease. Extend it earlier', swallowing],
  ['within 1999 ms – check whether the connection pool is exhausted', busyAfter(10, false, 'pool timeout')],
])('an extension ends with the lease, however long the time limit is, and says: %s', async (words, fault) => {
  const patient = new SqlLockProvider(world.network, dialects.sqlite, { timeLimit: HOUR })
  const lock = await patient.lock({ ...job(), lockAtMostFor: 2 * SECOND })
  world.network.fault = fault
  const message = expect.stringContaining(words)
  await expectFailure(lock?.extend(HOUR), { code: 'TIMEOUT', message }, 2 * SECOND)
})

it.each([true, false])(
  'all attempts together have one time limit, and what was in the way of the first is reported: sent %s',
  async (sent) => {
    world.network.fault = swallowing
    world.network.next = busyAfter(LIMIT / 2, sent)
    const message = expect.stringContaining('too busy')
    await expectFailure(world.provider.lock(job()), { code: 'TIMEOUT', message })
    expect(world.network.sent).toHaveLength(2)
  },
)

it('a job whose run ends while it is paused is paused', async () => {
  const lock = await world.other.lock(job())
  world.network.next = async (deliver) => {
    const answer = await deliver()
    await lock?.unlock()
    return answer
  }
  const pause = world.provider.table.pause('job', { duration: '8h', reason: 'a look' })
  expect(await settle(pause, SECOND)).toBe(true)
})

it('a pause whose request arrives late has no effect once the pause was ended', async () => {
  await (await world.other.lock(job()))?.unlock()
  world.network.next = 'late'
  await expectFailure(world.provider.table.pause('job', { duration: '8h', reason: 'late' }), {
    code: 'TIMEOUT',
  })
  await world.other.table.resume('job')
  await world.network.deliver()
  await jest.advanceTimersByTimeAsync(SECOND)
  expect(await world.held()).toEqual([])
})

it('an unlock ends what the holder trusts, also when the database refuses it, and may then be called again', async () => {
  const lock = await world.provider.lock(job())
  world.network.fault = (send, isWrite) =>
    isWrite ? Promise.reject(new DriverError('refused', 'no space left')) : send()
  await expect(lock?.unlock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
  expect(lock?.remaining()).toBe(0)
  await expect(lock?.extend(HOUR)).rejects.toMatchObject({ code: 'NOT_LOCKED' })
  expect(await world.held()).toEqual(['job'])
  world.network.fault = undefined
  await lock?.unlock()
  await lock?.unlock()
  expect(await world.held()).toEqual([])
})
