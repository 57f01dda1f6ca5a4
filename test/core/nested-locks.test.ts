import { once } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import {
  assertLocked,
  executeOnce,
  InMemoryLockProvider,
  leaderElection,
  LockingTaskExecutor,
} from '../../src/core/internal'
import { afterTest } from '../after-test'
import { promiseWithResolvers } from '../promise-with-resolvers'

const thrown = (name?: string): unknown => {
  try {
    if (name === undefined) assertLocked()
    else assertLocked(name)
    return undefined
  } catch (error) {
    return error
  }
}

describe('assertLocked', () => {
  it('checks the innermost lock: inside a lost lock it throws, although the outer lock is held', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    await executor.executeWithLock({ name: 'outer', lockAtMostFor: '1h' }, async () => {
      await executor.executeWithLock({ name: 'inner', lockAtMostFor: '50ms' }, async ({ signal }) => {
        if (!signal.aborted) await once(signal, 'abort')
        expect(thrown()).toMatchObject({ name: 'LockError' })
      })
      expect(thrown()).toBeUndefined()
    })
  })

  it('finds a named lock at every level', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    await executor.executeWithLock({ name: 'outer', lockAtMostFor: '1h' }, async () => {
      await executor.executeWithLock({ name: 'inner', lockAtMostFor: '1h' }, () => {
        expect(thrown('outer')).toBeUndefined()
        expect(thrown('inner')).toBeUndefined()
        expect(thrown('other')).toMatchObject({ code: 'NOT_LOCKED' })
      })
      expect(thrown('inner')).toMatchObject({ code: 'NOT_LOCKED' })
    })
  })
})

describe('a task that is nested in its own lock', () => {
  const lock = { name: 'job', lockAtMostFor: '1h' }
  const slot = new Date('2026-11-21T03:00:00Z')

  /** Calls `work` inside a task that holds the lock. */
  const around = async <T>(work: () => Promise<T>, provider = new InMemoryLockProvider()): Promise<T> => {
    const result = await new LockingTaskExecutor(provider).executeWithLock(lock, work)
    if (!result.executed) throw new Error(result.reason)
    return result.value
  }

  it('is skipped if its signal has aborted, and stops if it aborts later', async () => {
    const provider = new InMemoryLockProvider()
    const executor = new LockingTaskExecutor(provider)
    await around(async () => {
      const aborted = { ...lock, signal: AbortSignal.abort() }
      expect(await executor.executeWithLock(aborted, () => 1)).toEqual({ executed: false, reason: 'aborted' })
      const controller = new AbortController()
      await executor.executeWithLock({ ...lock, signal: controller.signal }, ({ signal }) => {
        controller.abort('enough')
        expect(signal.reason).toBe('enough')
      })
      expect(() => assertLocked('job')).not.toThrow()
    }, provider)
  })

  it('waits for another nested task', async () => {
    const provider = new InMemoryLockProvider()
    const executor = new LockingTaskExecutor(provider)
    await around(async () => {
      const running = promiseWithResolvers()
      const first = executor.executeWithLock(lock, () => running.promise)
      const second = executor.executeWithLock({ ...lock, wait: { atMost: '1h', interval: 1 } }, () => 2)
      const third = await executor.executeWithLock(lock, () => 3)
      expect(third).toEqual({ executed: false, reason: 'nested' })
      running.resolve()
      await first
      expect(await second).toEqual({ executed: true, value: 2 })
    }, provider)
  })

  it('is kept alive', async () => {
    const provider = new InMemoryLockProvider()
    const executor = new LockingTaskExecutor(provider)
    await executor.executeWithLock({ ...lock, lockAtMostFor: '10m' }, async (outer) => {
      const extended = promiseWithResolvers()
      const nested = { ...lock, lockAtMostFor: '1h', keepAlive: true }
      await executor.executeWithLock(nested, async ({ lock: own }) => {
        while (outer.lock.remaining() <= 600_000) await new Promise(setImmediate)
        expect(own.remaining()).toBeGreaterThan(600_000)
        extended.resolve()
      })
      await extended.promise
    })
  })

  it('cannot have a slot of its own', async () => {
    const provider = new InMemoryLockProvider()
    await executeOnce(provider, { name: 'job', slot }, () => 1)
    const refused = { code: 'INVALID_CONFIGURATION', lockName: 'job' }
    await around(async () => {
      const again = executeOnce(provider, { name: 'job', slot }, () => 2)
      await expect(again).rejects.toMatchObject(refused)
    }, provider)
  })

  it('is skipped by an executor that was shut down, whose shutdown waits for it', async () => {
    const provider = new InMemoryLockProvider()
    const executor = new LockingTaskExecutor(provider)
    await around(async () => {
      let ended = false
      const running = promiseWithResolvers<AbortSignal>()
      const nested = executor.executeWithLock(lock, async ({ signal }) => {
        running.resolve(signal)
        await once(signal, 'abort')
        ended = true
      })
      const signal = await running.promise
      expect(await executor.shutdown({ abortAfter: 0 })).toEqual([])
      expect(ended).toBe(true)
      expect(signal.reason).toMatchObject({ code: 'SHUTDOWN' })
      await nested
      const late = await executor.executeWithLock(lock, () => 1)
      expect(late).toEqual({ executed: false, reason: 'shutdown' })
    }, provider)
  })

  it('stops when the lock around it stops', async () => {
    const provider = new InMemoryLockProvider()
    const outer = new LockingTaskExecutor(provider)
    const inner = new LockingTaskExecutor(provider)
    await outer.executeWithLock(lock, () =>
      inner.executeWithLock(lock, async ({ signal }) => {
        expect(await outer.shutdown({ timeout: 0 })).toEqual(['job'])
        expect(signal.reason).toMatchObject({ code: 'SHUTDOWN' })
      }),
    )
  })

  it('is no obstacle to an election, which runs outside of it', async () => {
    const provider = new InMemoryLockProvider()
    const elected = promiseWithResolvers()
    await around(async () => {
      const election = leaderElection(
        provider,
        { ...lock, interval: 1 },
        {
          onElected() {
            elected.resolve()
          },
        },
      )
      afterTest(() => election.shutdown())
      await new Promise(setImmediate)
      expect(election.isLeader()).toBe(false)
    }, provider)
    await elected.promise
  })
})
