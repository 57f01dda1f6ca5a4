import { describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import type { TaskContext } from '../../src/core/lock'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { useFaultyExecutor } from './faulty-executor'
import { useVirtualTime } from './virtual-time'

const job = { name: 'job', lockAtMostFor: '10m' }

useVirtualTime()
const world = useFaultyExecutor()

describe('the signal of a task', () => {
  it.each(['returns', 'throws'])('aborts when the task %s, for work that outlives it', async (how) => {
    let left: TaskContext | undefined
    const run = world.executor.executeWithLock(job, (context) => {
      left = context
      expect(context.signal.aborted).toBe(false)
      if (how === 'throws') throw new Error('business')
    })
    await run.catch(() => undefined)
    expect(left?.signal.reason).toMatchObject({ name: 'LockError', code: 'NOT_LOCKED', lockName: 'job' })
    expect(left?.lock.remaining()).toBe(0)
    await expect(left?.lock.extend('1m')).rejects.toBe(left?.signal.reason)
  })

  it('leaves no timer behind when the task ends before its extension', async () => {
    await world.executor.executeWithLock({ ...job, keepAlive: true }, ({ lock }) => {
      void lock.extend('20m')
    })
    expect(world.provider.calls).toEqual(['lock', 'extend', 'unlock'])
  })
})

describe('await using', () => {
  it('unlocks at the end of the block, unless there is nothing to unlock', async () => {
    {
      await using lock = await world.provider.lock(job)
      expect(lock && world.storage.isLocked('job')).toBe(true)
      await using notAcquired = await world.storage.lock(job)
      expect(notAcquired).toBeUndefined()
    }
    expect(world.storage.isLocked('job')).toBe(false)
    {
      await using lock = await world.provider.lock(job)
      await lock?.unlock()
    }
    expect(world.provider.calls).toEqual(['lock', 'unlock', 'lock', 'unlock'])
  })

  it('rejects an extension that is answered after the unlock, and releases the lock', async () => {
    const lock = await world.provider.lock(job)
    const gate = promiseWithResolvers()
    world.provider.gate = gate.promise
    const extended = lock?.extend('20m')
    const rejected = expect(extended).rejects.toMatchObject({ code: 'NOT_LOCKED', lockName: 'job' })
    // The request is sent in the turn of the extension.
    await jest.advanceTimersByTimeAsync(0)
    const unlocked = lock?.unlock()
    gate.resolve()
    await Promise.all([rejected, unlocked])
    expect(world.provider.calls).toEqual(['lock', 'extend', 'unlock'])
    expect(world.storage.isLocked('job')).toBe(false)
  })

  it('rethrows the error of the block if the unlock fails too, and warns about that', async () => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const error = new Error('business')
    const block = async () => {
      await using lock = await world.provider.lock(job)
      world.provider.faults.unlock = new LockError('DATABASE_ERROR', 'gone')
      if (lock) throw error
    }
    await expect(block()).rejects.toBe(error)
    const message =
      "Lock 'job' could not be released yet; it expires at the end of its lease at the latest: gone"
    expect(warning.mock.calls).toEqual([
      [expect.objectContaining({ message, cause: world.provider.faults.unlock })],
    ])
    // The lease of the storage's own lock.
    await jest.advanceTimersByTimeAsync(600_000)
  })
})
