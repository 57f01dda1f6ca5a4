import { getEventListeners } from 'node:events'
import { describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { executeOnce } from '../../src/core/execute-once'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { Lease, sleep } from '../../src/core/time'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { useFaultyExecutor } from './faulty-executor'
import { providerOf } from './provider-of'
import { startVirtualTime, useVirtualTime } from './virtual-time'

const job = { name: 'job', lockAtMostFor: '1h' }

describe('a lock with wait', () => {
  useVirtualTime()
  const world = useFaultyExecutor()

  it('is acquired when the holder unlocks, and its lease begins then', async () => {
    const holder = await world.storage.lock(job)
    const waiting = world.provider.lock({ ...job, wait: '1m' })
    await jest.advanceTimersByTimeAsync(30_000)
    await holder?.unlock()
    await jest.advanceTimersByTimeAsync(500)
    const lock = await waiting
    expect(lock?.remaining()).toBeGreaterThan(3_590_000)
  })

  it('is refused when the time is over, after one last attempt', async () => {
    await world.storage.lock(job)
    const waiting = world.provider.lock({ ...job, wait: { atMost: '1m', interval: '10s' } })
    await jest.advanceTimersByTimeAsync(59_999)
    const attempts = world.provider.calls.length
    await jest.advanceTimersByTimeAsync(1)
    expect(await waiting).toBeUndefined()
    expect(world.provider.calls.length).toBe(attempts + 1)
    expect(attempts).toBeGreaterThanOrEqual(6)
    expect(attempts).toBeLessThanOrEqual(12)
  })

  it('is tried for the last time when the time is over, however long an attempt takes', async () => {
    let attempts = 0
    const slow = providerOf(async () => {
      attempts++
      await sleep(50_000)
      return { reason: 'held' }
    })
    const waiting = slow.lock({ ...job, wait: { atMost: '1m', interval: '30s' } })
    await jest.advanceTimersByTimeAsync(60_000)
    expect(attempts).toBe(2)
    await jest.advanceTimersByTimeAsync(50_000)
    expect(await waiting).toBeUndefined()
  })

  it('does not wait for a database that does not answer', async () => {
    world.provider.faults.lock = new LockError('DATABASE_ERROR', 'gone')
    await expect(world.provider.lock({ ...job, wait: '1m' })).rejects.toThrow('gone')
  })

  it('is waited for five minutes in all by executeOnce, unless its signal aborts, also if the database is away', async () => {
    await world.storage.lock(job)
    world.provider.faults.lock = new LockError('DATABASE_ERROR', 'gone')
    const { signal, abort } = abortable()
    const aborted = executeOnce(world.provider, { name: 'job', signal }, jest.fn()).catch(String)
    const ended = jest.fn()
    void executeOnce(world.provider, { name: 'job' }, jest.fn()).catch(ended)
    abort()
    expect(await aborted).toBe('LockError: gone')
    await jest.advanceTimersByTimeAsync(290_000)
    delete world.provider.faults.lock
    await jest.advanceTimersByTimeAsync(9_000)
    expect(ended).not.toHaveBeenCalled()
    await jest.advanceTimersByTimeAsync(2_000)
    expect(ended).toHaveBeenCalledWith(lockError('SKIPPED'))
  })
})

/** Locks that are never free. Fails a wait that never pauses. */
function heldForEver() {
  const counted = { attempts: 0 }
  const provider = providerOf(() =>
    ++counted.attempts > 9_999 ? Promise.reject(new Error('no pause')) : Promise.resolve({ reason: 'held' }),
  )
  return { counted, provider }
}

describe('waiting', () => {
  const wait = { atMost: '1m', interval: 10 }

  it('skips a task whose signal aborts', async () => {
    const { counted, provider } = heldForEver()
    const controller = new AbortController()
    const executor = new LockingTaskExecutor(provider)
    const configuration = { ...job, wait, signal: controller.signal }
    const run = executor.executeWithLock(configuration, () => undefined)
    const thrown = executor.executeWithLock({ ...configuration, onSkip: 'throw' }, () => undefined)
    await eventually(() => expect(counted.attempts).toBeGreaterThan(1))
    controller.abort()
    expect(await run).toEqual({ executed: false, reason: 'aborted' })
    await expect(thrown).rejects.toMatchObject({
      code: 'SKIPPED',
      lockName: 'job',
      message: `Lock 'job' was not acquired, because the signal of its configuration aborted – the task was skipped.`,
    })
  }, 10_000)

  it('ends at once when its signal aborts during an attempt', async () => {
    startVirtualTime()
    const answer = promiseWithResolvers()
    const { counted, provider } = heldForEver()
    const slow = providerOf((lock) => answer.promise.then(() => provider.acquire(lock)))
    const { signal, ...controller } = abortable()
    const locked = slow.lock({ ...job, wait: { atMost: '1m', interval: '30s' }, signal })
    const reason = new Error('changed my mind')
    const refused = expect(locked).rejects.toBe(reason)
    controller.abort(reason)
    answer.resolve()
    await refused
    expect([counted.attempts, jest.getTimerCount()]).toEqual([1, 0])
  })

  it('ends with the reason of its signal, which has one listener, however many wait, and none afterwards', async () => {
    const { counted, provider } = heldForEver()
    const { signal, abort } = abortable()
    const waiting = Array.from({ length: 20 }, () => provider.lock({ ...job, wait, signal }))
    const locks = Promise.allSettled(waiting)
    const reason = new Error('changed my mind')
    await eventually(() => expect(counted.attempts).toBeGreaterThan(20))
    // Node.js warns of more than ten.
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    abort(reason)
    expect(await locks).toEqual(waiting.map(() => ({ status: 'rejected', reason })))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('ends with the reason of a signal that aborts while a lock that came too late is released', async () => {
    const { signal, abort } = abortable()
    const reason = new Error('changed my mind')
    const ended = () => Promise.resolve(undefined)
    const unlock = () => Promise.resolve().then(() => abort(reason))
    const late = providerOf(() => Promise.resolve({ lease: new Lease(0), extend: ended, unlock }))
    await expect(late.lock({ ...job, signal })).rejects.toBe(reason)
  })

  it('does not begin when its signal has aborted', async () => {
    const { counted, provider } = heldForEver()
    const reason = new Error('too late')
    await expect(provider.lock({ ...job, wait, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(counted.attempts).toBe(0)
  })
})

function abortable(): { readonly signal: AbortSignal; readonly abort: (reason?: unknown) => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) }
}

it('the signal of a configuration aborts that of the task with its own reason, while the lock stays held, and keeps nothing of the task', async () => {
  // On Node.js 20, `AbortSignal.any` keeps something of each result at its sources.
  const any = jest.spyOn(AbortSignal, 'any')
  const provider = new InMemoryLockProvider()
  const { signal, abort } = abortable()
  const executor = new LockingTaskExecutor(provider)
  const reason = new Error('the request was cancelled')
  const result = await executor.executeWithLock({ ...job, signal }, ({ signal: own, lock }) => {
    expect(own.aborted).toBe(false)
    abort(reason)
    return [own.reason as unknown, lock.remaining() > 0, provider.isLocked('job')]
  })
  expect(result).toEqual({ executed: true, value: [reason, true, true] })
  expect(provider.isLocked('job')).toBe(false)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(any).not.toHaveBeenCalled()
})
