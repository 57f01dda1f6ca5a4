import { describe, expect, it, jest } from '@jest/globals'
import { acquisitionOf, HeldLock } from '../../src/core/held-lock'
import type { LockingTaskExecutorListener } from '../../src/core/listener'
import type { Acquisition } from '../../src/core/lock'
import { Lease } from '../../src/core/time'
import { lockError } from '../lock-error'
import { useVirtualTime } from './virtual-time'

const MINUTE = 60_000

useVirtualTime()

/** A storage's answer for a minute, which extends and releases whatever is asked. */
function acquisition(more: Partial<Acquisition> = {}) {
  return {
    lease: new Lease(MINUTE),
    extend: jest.fn<Acquisition['extend']>((lockAtMostFor) => Promise.resolve(new Lease(lockAtMostFor))),
    unlock: jest.fn<Acquisition['unlock']>(() => Promise.resolve()),
    ...more,
  }
}

const lockOf = (given: Acquisition, report?: ConstructorParameters<typeof HeldLock>[2]) =>
  new HeldLock('job', given, report)

/** A lock that is kept alive for as long as its extensions succeed. */
function keptAlive(extend: Acquisition['extend']): HeldLock {
  const lock = lockOf(acquisition({ extend }))
  lock.keepAlive(MINUTE, Infinity)
  return lock
}

/** Extensions that fail, one with each message, the others with the last one. */
function failing(...messages: string[]): Acquisition['extend'] {
  return () => Promise.reject(new Error(messages.length > 1 ? messages.shift() : messages[0]))
}

/** Extensions that are answered in order, and after these no more. */
function inOrder(...extensions: Acquisition['extend'][]): Acquisition['extend'] {
  return (...durations) => extensions.shift()?.(...durations) ?? new Promise(() => undefined)
}

/** The lock of a task, and the events that it reports. */
function reported(given: Acquisition) {
  const events: { method: string; error?: unknown }[] = []
  const note = (method: keyof LockingTaskExecutorListener) => ({
    [method]: ({ error }: { error?: unknown }) => events.push({ method, error }),
  })
  const event = { name: 'job', configuration: { name: 'job', lockAtMostFor: MINUTE, lockAtLeastFor: 0 } }
  const listeners = [{ ...note('onExtendFailed'), ...note('onLockLost') }]
  return { events, lock: lockOf(given, { event, listeners }) }
}

it("the acquisition behind a lock is the storage's, also behind a lock that is nested in it", () => {
  const given = acquisition()
  const lock = lockOf(given)
  expect(acquisitionOf(lock)).toBe(given)
  const nested = lockOf(lock.lend(() => undefined))
  for (const each of [nested, lockOf(nested.lend(() => undefined))]) expect(acquisitionOf(each)).toBe(given)
  expect(acquisitionOf({})).toBeUndefined()
})

describe('an extension', () => {
  it('passes both durations on, and never shortens the lease', async () => {
    const given = acquisition()
    const lock = lockOf(given)
    await lock.extend('5m', '2m')
    expect(given.extend).toHaveBeenCalledWith(5 * MINUTE, 2 * MINUTE)
    await lock.extend('1m')
    expect(given.extend).toHaveBeenLastCalledWith(MINUTE, undefined)
    expect(lock.remaining()).toBe(5 * MINUTE)
  })

  it.each([
    [['soon'], "lockAtMostFor of lock 'job' is 'soon'"],
    [['1m', 'soon'], "lockAtLeastFor of lock 'job' is 'soon'"],
    [['1m', '2m'], 'is longer than its lockAtMostFor'],
  ] as const)('is refused with %j', async ([atMost, atLeast], message) => {
    await expect(lockOf(acquisition()).extend(atMost, atLeast)).rejects.toEqual(
      lockError('INVALID_CONFIGURATION', message),
    )
  })

  it('that is refused ends the lock, and the event says why', async () => {
    const refusing = { extend: () => Promise.resolve(undefined), unlock: () => Promise.resolve(false) }
    const { lock, events } = reported(acquisition(refusing))
    const lost = lockError('LOCK_LOST', 'the database refused to extend it')
    await expect(lock.extend('1m')).rejects.toEqual(lost)
    await expect(lock.extend('1m')).rejects.toBe(lock.signal.reason)
    await lock.end()
    expect(events).toEqual([{ method: 'onLockLost', error: lost }])
  })

  it('that is answered after its own lease was over ends the lock, though no timer fired and its answer is good', async () => {
    let left = MINUTE
    const extend = () => {
      left = 0
      return Promise.resolve(new Lease(20 * MINUTE))
    }
    const lock = lockOf(acquisition({ lease: { remaining: () => left }, extend }))
    const late = lockError('LOCK_LOST', 'the answer to its extension arrived after its lease was over')
    await expect(lock.extend('20m')).rejects.toEqual(late)
    expect(lock.signal.reason).toEqual(late)
  })
})

describe('an unlock', () => {
  it.each(['succeeded', 'failed', 'unused'] as const)('records that the run is %s', async (outcome) => {
    const given = acquisition()
    const error = outcome === 'failed' ? new Error('why') : undefined
    await lockOf(given).unlock({ outcome, error })
    expect(given.unlock).toHaveBeenCalledWith(outcome, error)
  })

  it.each([
    [{ outcome: 'done' }, "outcome of lock 'job' must be 'succeeded', 'failed' or 'unused'."],
    [{ outcom: 'failed' }, "Unknown option 'outcom' in the options of unlock()"],
    [{ outcome: 'succeeded', error: 'why' }, "error of lock 'job' must be left out"],
    [{ error: 'why' }, "error of lock 'job' must be left out, or passed with outcome: 'failed'."],
  ])('is refused with %j', async (options, message) => {
    await expect(lockOf(acquisition()).unlock(options as never)).rejects.toEqual(
      lockError('INVALID_CONFIGURATION', message),
    )
  })

  it('is sent again after it has failed, until it succeeds', async () => {
    const unlock = jest.fn<Acquisition['unlock']>().mockRejectedValueOnce(new Error('no'))
    const lock = lockOf(acquisition({ unlock }))
    await expect(lock.unlock()).rejects.toThrow('no')
    for (let time = 0; time < 2; time++) await lock.unlock()
    expect(unlock).toHaveBeenCalledTimes(2)
  })

  it('is why the lock can no longer be used, even if its lease was over by then', async () => {
    const lock = lockOf(acquisition({ lease: { remaining: () => 0 } }))
    await lock.unlock()
    await expect(lock.extend('1m')).rejects.toEqual(lockError('NOT_LOCKED', 'it was released'))
  })

  it('is not why, if the loss was noticed before', async () => {
    const lock = lockOf(acquisition())
    lock.abortWith(new AbortController().signal)
    await jest.advanceTimersByTimeAsync(MINUTE)
    await lock.unlock()
    const lost = lockError('LOCK_LOST', 'its lease is over, because the task ran longer than lockAtMostFor')
    await expect(lock.extend('1m')).rejects.toEqual(lost)
  })
})

it.each([
  ['LOCK_LOST', undefined],
  ['NOT_LOCKED', 7],
] as const)('a fencing token that is answered without the lock is an error: %s', async (code, token) => {
  const lock = lockOf(acquisition({ fencingToken: () => Promise.resolve(token) }))
  const answered = lock.fencingToken()
  if (code === 'NOT_LOCKED') await lock.unlock()
  await expect(answered).rejects.toEqual(lockError(code))
})

it.each([
  // After the failure, it was extended once more.
  [
    inOrder(failing('There is no table.'), acquisition().extend),
    /because it was not extended in time: the database/,
  ],
  // The time that was left cut the last ones short.
  [
    failing('There is no table.', 'The time was up.'),
    /because it could not be extended: There is no table\.$/,
  ],
])('a lock that is kept alive was lost because it was not extended', async (extend, why) => {
  const { signal } = keptAlive(extend)
  await jest.advanceTimersByTimeAsync(2 * MINUTE)
  expect(signal.reason).toEqual(lockError('LOCK_LOST', why))
})

describe('the signal of a lock', () => {
  type End = readonly [by: string, end: (lock: HeldLock) => unknown, reason: unknown]
  const ends: readonly End[] = [
    ['the executor', (lock) => lock.abort('executor'), 'executor'],
    ['another signal', (lock) => lock.abortWith(AbortSignal.abort('signal')), 'signal'],
    ['a release', (lock) => lock.unlock(), lockError('NOT_LOCKED')],
    ['the end of the lease', () => jest.advanceTimersByTimeAsync(MINUTE), lockError('LOCK_LOST')],
  ]
  const pairs = ends.flatMap((one) => ends.map((other) => ({ one, other })))
  const moments = ['after the ends', 'before them'].flatMap((read) =>
    pairs.map((pair) => ({ ...pair, read })),
  )

  it.each(moments)(
    'that is read $read has the reason of the first: $one.0, then $other.0',
    async ({ read, one: [, end, reason], other: [, endAgain] }) => {
      const lock = lockOf(acquisition())
      // Watches the lease, which a lock does not do before its signal is read.
      lock.abortWith(new AbortController().signal)
      const before = read === 'before them' ? lock.signal : undefined
      await end(lock)
      await endAgain(lock)
      const { signal } = lock
      expect(signal.reason).toEqual(reason)
      expect(before ?? signal).toBe(signal)
      await lock.unlock()
    },
  )
})

it('a lock that has ended listens to no other signal, and is neither kept alive nor lent', async () => {
  const lock = lockOf(acquisition())
  await lock.unlock()
  const { signal } = new AbortController()
  const listen = jest.spyOn(signal, 'addEventListener')
  lock.abortWith(signal)
  lock.keepAlive(MINUTE, 60 * MINUTE)
  expect(listen).not.toHaveBeenCalled()
  expect(jest.getTimerCount()).toBe(0)
  expect(() => lock.lend(() => undefined)).toThrow(lockError('NOT_LOCKED'))
})
