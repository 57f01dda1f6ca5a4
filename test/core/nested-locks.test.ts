import { once } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { leaderElection } from '../../src/core/leader-election'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { activeLock, assertLocked } from '../../src/core/scope'
import { afterTest } from '../after-test'
import { lockError } from '../lock-error'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { useFaultyExecutor } from './faulty-executor'

const job = { name: 'job', lockAtMostFor: '1h' }
const other = { ...job, name: 'other' }

const world = useFaultyExecutor()

describe('assertLocked', () => {
  it('without a name checks the innermost lock, even if it is lost and the outer lock is held', async () => {
    await world.executor.executeWithLock(job, async () => {
      await world.executor.executeWithLock({ name: 'inner', lockAtMostFor: '50ms' }, async ({ signal }) => {
        if (!signal.aborted) await once(signal, 'abort')
        expect(() => assertLocked()).toThrow(
          lockError(
            'NOT_LOCKED',
            'This code does not run under a lock that is still held – run it through exec',
          ),
        )
      })
      assertLocked()
    })
  })

  it('finds a named lock at every level', async () => {
    const notLocked = lockError(
      'NOT_LOCKED',
      "This code does not run under lock 'inner', or that lock is no longer held – run it through exec",
    )
    await world.executor.executeWithLock(job, async () => {
      await world.executor.executeWithLock({ ...job, name: 'inner' }, () => {
        assertLocked('job')
        assertLocked('inner')
        expect(activeLock()?.name).toBe('inner')
        expect(() => assertLocked('other')).toThrow(expect.objectContaining({ lockName: 'other' }))
      })
      expect(() => assertLocked('inner')).toThrow(notLocked)
    })
  })
})

describe('a task that is nested in its own lock', () => {
  it('is skipped if its signal has aborted, and stops if it aborts later', async () => {
    await world.executor.executeWithLock(job, async () => {
      const aborted = { ...job, signal: AbortSignal.abort() }
      expect(await world.executor.executeWithLock(aborted, () => 1)).toEqual({
        executed: false,
        reason: 'aborted',
      })
      const controller = new AbortController()
      await world.executor.executeWithLock({ ...job, signal: controller.signal }, ({ signal }) => {
        controller.abort('enough')
        expect(signal.reason).toBe('enough')
      })
      assertLocked('job')
    })
  })

  it('waits for another nested task, also when one in that has ended', async () => {
    const result = await world.executor.executeWithLock(job, async () => {
      const [running, inside] = [promiseWithResolvers(), promiseWithResolvers()]
      const first = world.executor.executeWithLock(job, async () => {
        await world.executor.executeWithLock(job, () => undefined)
        inside.resolve()
        return running.promise
      })
      await inside.promise
      const third = await world.executor.executeWithLock(job, () => 3)
      const second = world.executor.executeWithLock({ ...job, wait: { atMost: '1h', interval: 1 } }, () => 2)
      running.resolve()
      await first
      return [await second, third]
    })
    const outcomes = [
      { executed: true, value: 2 },
      { executed: false, reason: 'nested' },
    ]
    expect(result).toEqual({ executed: true, value: outcomes })
  })

  it('fails if it still waits for another when the task around both has ended', async () => {
    const running = promiseWithResolvers()
    let waiting: Promise<unknown> | undefined
    await world.executor.executeWithLock(job, () => {
      void world.executor.executeWithLock(job, () => running.promise)
      waiting = world.executor.executeWithLock({ ...job, wait: { atMost: '1h', interval: 1 } }, () => 2)
    })
    await expect(waiting).rejects.toEqual(lockError('NOT_LOCKED', 'it was released'))
    running.resolve()
  })

  it('is kept alive', async () => {
    await world.executor.executeWithLock({ ...job, lockAtMostFor: '10m' }, async (outer) => {
      await world.executor.executeWithLock({ ...job, keepAlive: true }, async ({ lock }) => {
        while (outer.lock.remaining() <= 600_000) await new Promise(setImmediate)
        expect(lock.remaining()).toBeGreaterThan(600_000)
      })
    })
  })

  it('has the slot that one of the tasks around it was given, and cannot have another', async () => {
    const slot = 1_000_000
    const nested = await world.executor.executeWithLock({ ...job, slot }, () =>
      world.executor.executeWithLock(other, () =>
        world.executor.executeWithLock(job, () =>
          world.executor.executeWithLock({ ...job, slot }, () => 'inner'),
        ),
      ),
    )
    expect(nested).toMatchObject({ value: { value: { value: { value: 'inner' } } } })
    await world.executor.executeWithLock({ ...job, slot: slot + 1 }, async () => {
      const error = await world.executor
        .executeWithLock({ ...job, slot }, () => 'not run')
        .catch((why: unknown) => why)
      const refused = "holds lock 'job', so it cannot acquire a slot of its own – call it outside"
      expect(error).toEqual(lockError('INVALID_CONFIGURATION', refused))
      expect(error).toMatchObject({ lockName: 'job' })
    })
  })

  it('is skipped by an executor that was shut down, whose shutdown waits for it', async () => {
    const inner = new LockingTaskExecutor(world.provider)
    await world.executor.executeWithLock(job, async () => {
      let ended = false
      const running = promiseWithResolvers<AbortSignal>()
      const nested = inner.executeWithLock(job, async ({ signal }) => {
        running.resolve(signal)
        await once(signal, 'abort')
        ended = true
      })
      const signal = await running.promise
      const waiting = inner.executeWithLock({ ...job, wait: '1h' }, () => 1)
      expect(await inner.shutdown({ abortAfter: 0 })).toEqual([])
      expect(ended).toBe(true)
      expect(signal.reason).toMatchObject({ code: 'SHUTDOWN' })
      await nested
      const late = inner.executeWithLock(job, () => 1)
      for (const each of [waiting, late]) expect(await each).toEqual({ executed: false, reason: 'shutdown' })
    })
  })

  it('stops when the lock around it stops', async () => {
    const inner = new LockingTaskExecutor(world.provider)
    await world.executor.executeWithLock(job, () =>
      inner.executeWithLock(job, async ({ signal }) => {
        expect(await world.executor.shutdown({ timeout: 0 })).toEqual(['job'])
        expect(signal.reason).toMatchObject({ code: 'SHUTDOWN' })
      }),
    )
  })

  it('is no obstacle to an election, which runs outside of it', async () => {
    const elected = promiseWithResolvers()
    await world.executor.executeWithLock(job, async () => {
      const onElected = () => elected.resolve()
      const election = leaderElection(world.provider, { ...job, interval: 1 }, { onElected })
      afterTest(() => election.shutdown())
      await new Promise(setImmediate)
      expect(election.isLeader()).toBe(false)
    })
    await elected.promise
  })
})
