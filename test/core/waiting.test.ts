import { describe, expect, it } from '@jest/globals'
import {
  InMemoryLockProvider,
  LockingTaskExecutor,
  WaitingLockProvider,
  type LockProvider,
} from '../../src/core'
import { eventually } from '../eventually'

const job = { name: 'job', lockAtMostFor: '1h' }

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

describe('waiting for a lock', () => {
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
