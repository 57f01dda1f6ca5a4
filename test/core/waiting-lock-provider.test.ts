import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  InMemoryLockProvider,
  LockError,
  LockingTaskExecutor,
  WaitingLockProvider,
  type LockProvider,
} from '../../src/core'
import { eventually } from '../eventually'
import { faultyExecutor } from './faulty-executor'

const job = { name: 'job', lockAtMostFor: '1h' }

describe('a provider that waits', () => {
  let { storage, provider: faulty } = faultyExecutor()

  beforeEach(() => {
    jest.useFakeTimers()
    ;({ storage, provider: faulty } = faultyExecutor())
  })

  afterEach(() => {
    jest.useRealTimers()
  })

  it('gives a free lock at once', async () => {
    expect(await new WaitingLockProvider(storage, { timeout: '1m' }).lock(job)).toBeDefined()
  })

  it('waits until the holder unlocks, and gives a lease that begins then', async () => {
    const holder = await storage.lock(job)
    const waiting = new WaitingLockProvider(storage, { timeout: '1m' }).lock(job)
    await jest.advanceTimersByTimeAsync(30_000)
    await holder?.unlock()
    await jest.advanceTimersByTimeAsync(500)
    const lock = await waiting
    expect(lock?.remaining()).toBeGreaterThan(3_590_000)
  })

  it('gives up at the timeout, after one last question', async () => {
    await storage.lock(job)
    const waiting = new WaitingLockProvider(faulty, { timeout: '1m', pause: '10s' }).lock(job)
    await jest.advanceTimersByTimeAsync(59_999)
    const asked = faulty.calls.length
    await jest.advanceTimersByTimeAsync(1)
    expect(await waiting).toBeUndefined()
    expect(faulty.calls.length).toBe(asked + 1)
    expect(asked).toBeGreaterThanOrEqual(6)
    expect(asked).toBeLessThanOrEqual(12)
  })

  it('asks once with a timeout of 0', async () => {
    await storage.lock(job)
    expect(await new WaitingLockProvider(faulty, { timeout: 0 }).lock(job)).toBeUndefined()
    expect(faulty.calls).toEqual(['lock'])
  })

  it('does not wait for a database that does not answer', async () => {
    faulty.faults.lock = new LockError('DATABASE_ERROR', 'gone')
    await expect(new WaitingLockProvider(faulty, { timeout: '1m' }).lock(job)).rejects.toThrow('gone')
  })

  it('refuses a pause of 0, a timeout that is none, and options that do not exist', () => {
    const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
    expect(() => new WaitingLockProvider(storage, { timeout: '1m', pause: 0 })).toThrow(invalid)
    expect(() => new WaitingLockProvider(storage, { timeout: 'soon' })).toThrow(invalid)
    expect(() => new WaitingLockProvider(storage, undefined as never)).toThrow(invalid)
    expect(() => new WaitingLockProvider(storage, { timeout: '1m', retries: 3 } as never)).toThrow(
      "Unknown option 'retries' in the waiting options – known are timeout, pause.",
    )
  })
})

/** A lock that is never had. */
function heldForEver(): LockProvider & { asked: number } {
  const provider = {
    asked: 0,
    lock: () => {
      provider.asked++
      return Promise.resolve(undefined)
    },
  }
  return provider
}

describe('waiting', () => {
  it('ends when the executor shuts down, and the task is skipped for that reason', async () => {
    const held = heldForEver()
    const executor = new LockingTaskExecutor(new WaitingLockProvider(held, { timeout: '1m', pause: 10 }))
    const run = executor.executeWithLock(job, () => undefined)
    await eventually(() => expect(held.asked).toBeGreaterThan(1))
    expect(await executor.shutdown()).toEqual([])
    const { asked } = held
    expect(await run).toEqual({ executed: false, reason: 'shutdown' })
    expect(held.asked).toBe(asked)
  })

  it('ends when its signal aborts, with the reason of the signal', async () => {
    const held = heldForEver()
    const waiting = new WaitingLockProvider(held, { timeout: '1m', pause: 10 })
    const controller = new AbortController()
    const locked = waiting.lock(job, { signal: controller.signal })
    const reason = new Error('changed my mind')
    const refused = expect(locked).rejects.toBe(reason)
    await eventually(() => expect(held.asked).toBeGreaterThan(1))
    controller.abort(reason)
    await refused
  }, 10_000)

  it('does not begin when its signal has aborted', async () => {
    const held = heldForEver()
    const waiting = new WaitingLockProvider(held, { timeout: '50ms', pause: 10 })
    const reason = new Error('too late')
    await expect(waiting.lock(job, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(held.asked).toBe(0)
  })
})

describe('a lock in memory', () => {
  it('is not given to a signal that has aborted', async () => {
    const provider = new InMemoryLockProvider()
    const reason = new Error('too late')
    await expect(provider.lock(job, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(provider.isLocked('job')).toBe(false)
  })
})
