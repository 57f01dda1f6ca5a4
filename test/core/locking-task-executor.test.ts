import { describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { HELD_BY_EXEC, LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { activeLock, assertLocked } from '../../src/core/scope'
import { afterTest } from '../after-test'
import { lockError } from '../lock-error'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { useFaultyExecutor } from './faulty-executor'
import { providerOf } from './provider-of'
import { startVirtualTime } from './virtual-time'

const job = { name: 'job', lockAtMostFor: '10m' }
const other = { name: 'other', lockAtMostFor: '10m' }

/** Another storage, in which the lock is held. */
function elsewhere(): InMemoryLockProvider {
  const other = new InMemoryLockProvider()
  void other.lock(job)
  return other
}

const world = useFaultyExecutor()

it('a task whose lock is held by the exec that started its process is warned of once', async () => {
  const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
  const executor = new LockingTaskExecutor(elsewhere())
  process.env[HELD_BY_EXEC] = 'other'
  afterTest(() => (process.env[HELD_BY_EXEC] = ''))
  await executor.executeWithLock(job, () => 'done')
  process.env[HELD_BY_EXEC] = 'job'
  await executor.executeWithLock({ ...job, signal: AbortSignal.abort() }, () => 'done')
  expect(warning).not.toHaveBeenCalled()
  await executor.executeWithLock(job, () => 'done')
  await executor.executeWithLock(job, () => 'done')
  expect(warning.mock.calls).toEqual([
    [
      "Lock 'job' is held by the exec that started this process, so the task was skipped, although exec will report success – let the command call the task without its lock, or start it without exec.",
    ],
  ])
})

describe('a task', () => {
  it.each([
    ['nothing', undefined],
    ['a promise', Promise.resolve()],
  ])('that is %s is refused before its lock is asked for', async (_, task) => {
    const refused = lockError('INVALID_CONFIGURATION', 'not a function')
    await expect(world.executor.executeWithLock(job, task as never)).rejects.toEqual(refused)
    expect(world.heard).toEqual([])
  })
})

describe('defects of ShedLock 7.9.0', () => {
  it('E1: a task that catches the error of a failed extension still returns its value', async () => {
    world.provider.refusesExtensions = true
    const result = await world.executor.executeWithLock(job, async () => {
      await activeLock()
        ?.extend('10m')
        .catch(() => undefined)
      return 'done'
    })
    expect(result).toEqual({ executed: true, value: 'done' })
    expect(world.heard).not.toContain('onUnlockFailed job')
  })

  it('E5: the error of a failed unlock does not replace the error of the task', async () => {
    const error = new Error('business')
    world.provider.faults.unlock = new LockError('DATABASE_ERROR', 'gone')
    await expect(world.executor.executeWithLock(job, () => Promise.reject(error))).rejects.toBe(error)
    expect(world.heard).toContain('onUnlockFailed job')
  })

  it.each([
    ['of the same storage', () => providerOf((wanted) => world.storage.acquire(wanted))],
    ['of another storage that holds it', () => elsewhere()],
  ])('E7: the same name at another provider %s is another lock', async (_, another) => {
    const inner = new LockingTaskExecutor(another())
    const result = await world.executor.executeWithLock(job, () => inner.executeWithLock(job, () => 'inner'))
    expect(result).toEqual({ executed: true, value: { executed: false, reason: 'held' } })
  })

  it('a provider around another passes on what it acquired, frozen or not', async () => {
    const around = providerOf(async (wanted) => Object.freeze(await world.storage.acquire(wanted)))
    const slot = { ...job, keepAlive: true, slot: 1_000_000 }
    const run = new LockingTaskExecutor(around).executeWithLock(slot, async ({ lock }) => {
      await lock.extend('1h')
      expect(lock.remaining()).toBeGreaterThan(3_000_000)
      return lock.fencingToken()
    })
    expect(await run).toEqual({ executed: true, value: 1_000_000 })
    expect(world.storage.isLocked('job')).toBe(false)
  })
})

describe('a failed unlock', () => {
  const gone = new LockError('TIMEOUT', 'gone')
  it.each([
    [gone, 'gone', 'TIMEOUT'],
    ['text', 'text', 'DATABASE_ERROR'],
    [undefined, 'undefined', 'DATABASE_ERROR'],
    [{ code: 1 }, '[object Object]', 'DATABASE_ERROR'],
  ])('becomes a warning that names the lock if no listener hears of it: %s', async (fault, warned, code) => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    world.provider.faults.unlock = fault
    const silent = new LockingTaskExecutor(world.provider)
    expect(await silent.executeWithLock(job, () => 'done')).toEqual({ executed: true, value: 'done' })
    const message = `Lock 'job' could not be released yet; it expires at the end of its lease at the latest: ${warned}`
    expect(warning.mock.calls).toEqual([[expect.objectContaining({ code, lockName: 'job', message })]])
  })

  it("becomes a warning even though Node.js refuses errors of Jest's realm", async () => {
    const warning = jest.spyOn(process, 'emitWarning')
    world.provider.faults.unlock = new LockError('DATABASE_ERROR', 'gone')
    const silent = new LockingTaskExecutor(world.provider)
    expect(await silent.executeWithLock(job, () => 'done')).toEqual({ executed: true, value: 'done' })
    const text =
      "LockError: Lock 'job' could not be released yet; it expires at the end of its lease at the latest: gone"
    expect(warning.mock.calls).toEqual([
      [expect.objectContaining({ cause: world.provider.faults.unlock })],
      [text],
    ])
  })
})

describe('a task inside a task', () => {
  it('runs at once if it has the same name, without another acquisition', async () => {
    const inner = () => world.executor.executeWithLock(job, () => 'inner')
    const result = await world.executor.executeWithLock(job, inner)
    expect(result).toEqual({ executed: true, value: { executed: true, value: 'inner' } })
    expect(world.provider.calls).toEqual(['lock', 'unlock'])
    expect(world.heard).toEqual([
      'onLockAttempt job',
      'onLockAcquired job',
      'onTaskStarted job',
      'onTaskStarted job',
      'onTaskFinished job',
      'onTaskFinished job',
    ])
    const again = await world.executor.executeWithLock(job, async () => {
      await world.executor.executeWithLock(job, inner)
      return inner()
    })
    expect(again).toEqual(result)
  })

  it('that an inner task left running still counts as the one nested run of the outer task', async () => {
    const started = promiseWithResolvers()
    let stray: Promise<unknown> | undefined
    const result = await world.executor.executeWithLock(job, async () => {
      await world.executor.executeWithLock(job, () => {
        stray = started.promise.then(() => world.executor.executeWithLock(job, () => 'stray'))
      })
      return world.executor.executeWithLock(job, async () => {
        started.resolve()
        return await stray
      })
    })
    expect(result).toMatchObject({ value: { value: { executed: false, reason: 'nested' } } })
  })

  it('acquires the lock again if the outer lease is over', async () => {
    startVirtualTime()
    await world.executor.executeWithLock({ name: 'job', lockAtMostFor: 100 }, async () => {
      jest.advanceTimersByTime(100)
      const successor = await world.storage.lock(job)
      expect(await world.executor.executeWithLock(job, () => 'inner')).toEqual({
        executed: false,
        reason: 'held',
      })
      await successor?.unlock()
    })
  })
})

describe('assertLocked', () => {
  it('passes in a task, after awaits, in timers and in branches', async () => {
    await world.executor.executeWithLock(job, async () => {
      assertLocked()
      await Promise.resolve()
      assertLocked()
      await new Promise<void>((resolve) => setTimeout(resolve, 0))
      assertLocked()
      // A value that is passed on is no name.
      await Promise.all([Promise.resolve().then(assertLocked), Promise.resolve(7).then(assertLocked)])
    })
  })

  it.each(['returned', 'thrown'])('throws in a promise or timer that outlives a task: %s', async (how) => {
    const ended = promiseWithResolvers()
    const fired = promiseWithResolvers<unknown>()
    let stray: Promise<void> | undefined
    const run = world.executor.executeWithLock(job, () => {
      stray = ended.promise.then(assertLocked)
      setTimeout(() => fired.resolve(activeLock()), 5)
      if (how === 'thrown') throw new Error('business')
    })
    await run.catch(() => undefined)
    ended.resolve()
    await expect(stray).rejects.toMatchObject({ code: 'NOT_LOCKED' })
    expect(await fired.promise).toBeUndefined()
  })

  it('sees the outer lock in what an inner task left behind', async () => {
    const ended = promiseWithResolvers()
    await world.executor.executeWithLock(job, async () => {
      let stray: Promise<string | undefined> | undefined
      await world.executor.executeWithLock(other, () => {
        stray = ended.promise.then(() => {
          assertLocked()
          return activeLock()?.name
        })
      })
      ended.resolve()
      expect(await stray).toBe('job')
    })
  })

  it('does not leak from one task into another that runs beside it', async () => {
    const inner = promiseWithResolvers()
    const first = world.executor.executeWithLock(job, () => inner.promise)
    await world.executor.executeWithLock(other, () => expect(activeLock()?.name).toBe('other'))
    expect(activeLock()).toBeUndefined()
    inner.resolve()
    await first
  })

  it('throws and aborts once the lease is over, even if the event loop was blocked until then', async () => {
    await world.executor.executeWithLock({ name: 'job', lockAtMostFor: '1s' }, (context) => {
      expect(context.signal.aborted).toBe(false)
      while (context.lock.remaining() > 0);
      expect(assertLocked).toThrow(lockError('NOT_LOCKED'))
      expect(context.signal.reason).toMatchObject({ code: 'LOCK_LOST', lockName: 'job' })
      expect(activeLock()?.signal.aborted).toBe(true)
    })
    expect(world.storage.isLocked('job')).toBe(false)
  })
})

it('a lock is extended once after the other when it is extended twice at once', async () => {
  await world.executor.executeWithLock(job, async ({ lock }) => {
    const gate = promiseWithResolvers()
    world.provider.gate = gate.promise
    const extended = Promise.all([lock.extend('20m'), lock.extend('30m')])
    await new Promise(setImmediate)
    expect(world.provider.calls).toEqual(['lock', 'extend'])
    gate.resolve()
    await extended
  })
  expect(world.provider.calls).toEqual(['lock', 'extend', 'extend', 'unlock'])
})
