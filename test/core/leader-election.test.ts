import { expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { leaderElection, type LeaderElection } from '../../src/core/leader-election'
import type { Duration } from '../../src/core/lock'
import type { LockProvider } from '../../src/core/lock-provider'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { providerOf } from './provider-of'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { startVirtualTime } from './virtual-time'

type Callbacks = Parameters<typeof leaderElection>[2]

const doNothing: Callbacks = { onElected: () => undefined, onError: () => undefined }

/** How often the leader's lock was extended. */
let extended = 0

let elections = 0
const until = (attempt: () => void) => eventually(() => elections > 100 || attempt())

function stand(provider: LockProvider, callbacks: Callbacks, lockAtMostFor = '1h', interval: Duration = 5) {
  // Elected again and again without a pause, it would let nothing else have its turn.
  const onTaskStarted = () => void (++elections > 100 && election.shutdown())
  const listeners = [{ onLockExtended: () => (extended += 1), onTaskStarted }]
  const configuration = { name: 'leader', lockAtMostFor, interval, listeners }
  const election = leaderElection(provider, configuration, callbacks)
  afterTest(() => election.shutdown())
  return election
}

it('one process leads, and the next one only when it has stepped down and ended its work', async () => {
  const provider = new InMemoryLockProvider()
  const events: string[] = []
  const [putAway, work] = [promiseWithResolvers(), promiseWithResolvers()]
  const tokens: number[] = []
  const first = stand(provider, {
    onElected: async (lock) => {
      tokens.push(await lock.fencingToken())
      events.push('first elected')
      await work.promise
      events.push('first has ended its work')
    },
    onStepDown: async (reason) => {
      events.push(`first stepped down: ${(reason as LockError).code}`)
      await putAway.promise
      throw new Error('not put away')
    },
    onError: (error) => {
      events.push(`${String(error)}, held: ${provider.isLocked('leader')}`)
    },
  })
  await until(() => expect(events).toEqual(['first elected']))
  const second = stand(provider, {
    onElected: async (lock) => {
      tokens.push(await lock.fencingToken())
      events.push('second elected')
    },
  })
  expect([first.isLeader(), second.isLeader()]).toEqual([true, false])
  const stopped = first.shutdown()
  await until(() => expect(events).toEqual(['first elected', 'first stepped down: SHUTDOWN']))
  expect([first.isLeader(), second.isLeader()]).toEqual([false, false])
  putAway.resolve()
  await until(() => expect(events.slice(2)).toEqual(['Error: not put away, held: true']))
  work.resolve()
  expect(await stopped).toEqual([])
  await until(() => expect(events.slice(3)).toEqual(['first has ended its work', 'second elected']))
  expect(tokens[1]).toBeGreaterThan(Number(tokens[0]))
})

it('a leader that loses the lock steps down at once, and leads again only when its work has ended', async () => {
  const warning = jest.spyOn(process, 'emitWarning')
  const provider = new InMemoryLockProvider()
  const work = promiseWithResolvers()
  const events: string[] = []
  const first = stand(
    provider,
    {
      onElected: () => {
        events.push('elected')
        return work.promise
      },
      onStepDown: (reason) => events.push((reason as LockError).code),
    },
    '4s',
    // It tries again without a pause.
    '1h',
  )
  // Kept alive.
  await until(() => expect([first.isLeader(), extended > 0]).toEqual([true, true]))
  // The next extension finds nothing.
  provider.clear()
  await until(() => expect(events).toEqual(['elected', 'LOCK_LOST']))
  expect(first.isLeader()).toBe(false)
  const second = stand(provider, { onElected: () => events.push('second') })
  await until(() => expect(second.isLeader()).toBe(true))
  await second.shutdown()
  expect(events).toEqual(['elected', 'LOCK_LOST', 'second'])
  work.resolve()
  await until(() => expect(events).toEqual(['elected', 'LOCK_LOST', 'second', 'elected']))
  expect(warning).not.toHaveBeenCalled()
})

it('an onElected that throws gives up the lock when onStepDown has ended, and its error is reported', async () => {
  const provider = new InMemoryLockProvider()
  const errors: unknown[] = []
  const stepDowns: unknown[] = []
  const failure = new Error('no')
  let attempts = 0
  const election = stand(provider, {
    onElected: () => {
      if (attempts++ < 2) throw failure
    },
    onStepDown: async (reason) => {
      await new Promise(setImmediate)
      stepDowns.push({ reason, leads: election.isLeader(), held: provider.isLocked('leader') })
    },
    onError: (error) => {
      errors.push(error)
      throw new Error('dropped, but for a warning')
    },
  })
  await until(() => expect(attempts).toBe(3))
  expect(errors).toEqual([failure, failure])
  expect(stepDowns).toEqual(errors.map((reason) => ({ reason, leads: false, held: true })))
})

it('a database that does not answer is reported, and tried again when that has ended', async () => {
  startVirtualTime()
  const inMemory = new InMemoryLockProvider()
  const failure = new LockError('TIMEOUT', 'no answer')
  let asked = 0
  const provider = providerOf((wanted) =>
    asked++ === 0 ? Promise.reject(failure) : inMemory.acquire(wanted),
  )
  const reported = promiseWithResolvers()
  const onError = jest.fn(() => reported.promise)
  const election = stand(provider, { onElected: () => undefined, onError })
  await jest.advanceTimersByTimeAsync(1_000)
  expect([onError.mock.calls, asked]).toEqual([[[failure]], 1])
  reported.resolve()
  await jest.advanceTimersByTimeAsync(5)
  expect(election.isLeader()).toBe(true)
})

it('shutdown() aborts the signal at once, and work may reject with its reason', async () => {
  const errors: unknown[] = []
  const election = stand(new InMemoryLockProvider(), {
    onElected: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
      }),
    onError: (error) => errors.push(error),
  })
  await until(() => expect(election.isLeader()).toBe(true))
  startVirtualTime()
  expect(await election.shutdown()).toEqual([])
  expect(errors).toEqual([])
})

it('shutdown() names the lock of work that does not end within its timeout', async () => {
  const work = promiseWithResolvers()
  const election = stand(new InMemoryLockProvider(), { onElected: () => work.promise })
  await until(() => expect(election.isLeader()).toBe(true))
  startVirtualTime()
  const stopped = election.shutdown({ timeout: '3s' })
  await jest.advanceTimersByTimeAsync(3_000)
  expect(await stopped).toEqual(['leader'])
  work.resolve()
})

it('isLeader() is false once the lease is over, even while the event loop is blocked', async () => {
  const election = stand(new InMemoryLockProvider(), { onElected: () => undefined }, '100ms')
  await until(() => expect(election.isLeader()).toBe(true))
  const longAfter = performance.now() + 10_000
  while (election.isLeader() && performance.now() < longAfter);
  expect(performance.now()).toBeLessThan(longAfter)
})

it.each([
  ['for a quarter of lockAtMostFor', '8s', undefined, 2_000],
  ['for a millisecond at least', '2ms', undefined, 1],
  ['five seconds at most', '1h', undefined, 5_000],
  ['as long as a timer can for an interval that is longer', '1h', '30d', 2 ** 31 - 1],
])('a candidate waits %s before it tries again', async (_, lockAtMostFor, interval, pause) => {
  startVirtualTime()
  let asked = 0
  // Without a pause, nothing else would ever have its turn.
  const provider = providerOf(() =>
    asked++ < 2 ? Promise.reject(new LockError('TIMEOUT', 'no answer')) : new Promise(() => undefined),
  )
  const election = leaderElection(provider, { name: 'leader', lockAtMostFor, interval }, doNothing)
  await jest.advanceTimersByTimeAsync(pause - 1)
  expect(asked).toBe(1)
  await jest.advanceTimersByTimeAsync(1)
  expect(asked).toBe(2)
  await election.shutdown()
})

it('an election that is shut down while it is won leads for a moment, and steps down', async () => {
  const events: string[] = []
  const provider = new InMemoryLockProvider()
  const stopping = promiseWithResolvers<Promise<readonly string[]>>()
  const onTaskStarted = () => {
    stopping.resolve(election.shutdown({ timeout: '1s' }))
  }
  const election: LeaderElection = leaderElection(
    provider,
    { name: 'leader', lockAtMostFor: '1h', interval: 5, listeners: [{ onTaskStarted }] },
    {
      onElected: () => events.push('elected'),
      onStepDown: (reason) => events.push((reason as LockError).code),
    },
  )
  expect(await stopping.promise).toEqual([])
  expect(events).toEqual(['elected', 'SHUTDOWN'])
  expect(provider.isLocked('leader')).toBe(false)
})

it('an election without onElected is refused', () => {
  const configuration = { name: 'leader', lockAtMostFor: '1h' }
  expect(() => leaderElection(new InMemoryLockProvider(), configuration, {} as Callbacks)).toThrow(
    lockError('INVALID_CONFIGURATION', /^onElected of lock 'leader' must be a function/),
  )
})

it('an election keeps no timer after shutdown(), even if an attempt was under way', async () => {
  startVirtualTime()
  const answer = promiseWithResolvers()
  const provider = providerOf(() =>
    answer.promise.then(() => Promise.reject(new LockError('TIMEOUT', 'no answer'))),
  )
  const election = leaderElection(provider, { name: 'leader', lockAtMostFor: '1h' }, doNothing)
  const stopped = election.shutdown()
  answer.resolve()
  await stopped
  await jest.advanceTimersByTimeAsync(1)
  expect(jest.getTimerCount()).toBe(0)
})
