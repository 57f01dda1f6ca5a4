import { describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { executeOnce } from '../../src/core/execute-once'
import { useFaultyExecutor } from './faulty-executor'
import { useVirtualTime } from './virtual-time'

const MINUTE = 60_000
const job = { name: 'job', lockAtMostFor: '10m' }
const gone = new LockError('DATABASE_ERROR', 'gone')

useVirtualTime()
const world = useFaultyExecutor()

function extensions(): number {
  return world.provider.calls.filter((call) => call === 'extend').length
}

async function keptAlive(configuration: { lockAtMostFor: string; lockAtLeastFor?: string } = job) {
  const lock = await world.provider.lock({ name: 'job', ...configuration, keepAlive: true })
  if (!lock) throw new Error('not given')
  return lock
}

describe('keepAlive of a lock by hand', () => {
  it('extends at half time, again and again, until the unlock', async () => {
    const lock = await keptAlive()
    await jest.advanceTimersByTimeAsync(5 * MINUTE - 1)
    expect(extensions()).toBe(0)
    await jest.advanceTimersByTimeAsync(60 * MINUTE)
    expect(extensions()).toBe(12)
    expect(world.storage.isLocked('job')).toBe(true)
    await lock.unlock()
    expect(world.storage.isLocked('job')).toBe(false)
    await jest.advanceTimersByTimeAsync(60 * MINUTE)
    expect(extensions()).toBe(12)
  })

  it('E3: survives an error of the database and goes on trying until one succeeds', async () => {
    const lock = await keptAlive()
    world.provider.faults.extend = gone
    await jest.advanceTimersByTimeAsync(9 * MINUTE)
    expect(extensions()).toBeGreaterThan(5)
    delete world.provider.faults.extend
    await jest.advanceTimersByTimeAsync(MINUTE)
    expect(lock.remaining()).toBeGreaterThan(9 * MINUTE)
    await jest.advanceTimersByTimeAsync(60 * MINUTE)
    expect(lock.signal.aborted).toBe(false)
    await lock.unlock()
  })

  it('tries a short lease several times before it is over', async () => {
    const lock = await keptAlive({ lockAtMostFor: '2s' })
    world.provider.faults.extend = gone
    await jest.advanceTimersByTimeAsync(1_990)
    expect(lock.signal.aborted).toBe(false)
    expect(extensions()).toBeGreaterThanOrEqual(5)
    await jest.advanceTimersByTimeAsync(1_000)
    expect(lock.signal.aborted).toBe(true)
    expect(extensions()).toBeLessThanOrEqual(10)
    await lock.unlock()
  })

  it('ends with an unlock while an extension is under way', async () => {
    const lock = await keptAlive()
    world.provider.lateBy = MINUTE
    await jest.advanceTimersByTimeAsync(5 * MINUTE)
    const unlocked = lock.unlock()
    await jest.advanceTimersByTimeAsync(60 * MINUTE)
    await unlocked
    expect(extensions()).toBe(1)
  })

  it('goes on with lockAtMostFor after an extension by hand, for longer or for shorter', async () => {
    const lock = await keptAlive()
    await lock.extend('60m')
    await jest.advanceTimersByTimeAsync(55 * MINUTE - 1)
    expect(extensions()).toBe(1)
    await jest.advanceTimersByTimeAsync(1)
    expect(extensions()).toBe(2)
    expect(lock.remaining()).toBe(10 * MINUTE)
    await lock.extend('1m')
    await jest.advanceTimersByTimeAsync(20 * MINUTE)
    expect(extensions()).toBe(3 + 4)
    expect(lock.remaining()).toBeGreaterThanOrEqual(5 * MINUTE)
    await lock.unlock()
    expect(world.storage.isLocked('job')).toBe(false)
  })
})

it('executeOnce keeps its lock alive, whose lease is a minute', async () => {
  await executeOnce(world.provider, { name: 'job' }, async ({ lock }) => {
    expect(lock.remaining()).toBe(MINUTE)
    await jest.advanceTimersByTimeAsync(10 * MINUTE)
    expect(lock.remaining()).toBeGreaterThan(0)
  })
})

it('E2: a refused extension aborts the signal and is reported to the listener, and the outcome of the task stands', async () => {
  const error = new Error('business')
  const run = world.executor.executeWithLock({ ...job, keepAlive: true }, async ({ signal }) => {
    world.provider.refusesExtensions = true
    await jest.advanceTimersByTimeAsync(5 * MINUTE)
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST' })
    throw error
  })
  await expect(run).rejects.toBe(error)
  expect(world.heard.slice(-2)).toEqual(['onLockLost job', 'onTaskFinished job'])
})

describe('keepAlive: { atMost }', () => {
  const limited = { ...job, keepAlive: { atMost: '30m' } }

  it('aborts the signal once, and lets the lock expire although the task goes on', async () => {
    await world.executor.executeWithLock(limited, async ({ signal, lock }) => {
      await jest.advanceTimersByTimeAsync(30 * MINUTE - 1)
      expect(signal.aborted).toBe(false)
      expect(lock.remaining()).toBeGreaterThan(4 * MINUTE)
      await jest.advanceTimersByTimeAsync(1)
      expect(signal.reason).toMatchObject({
        code: 'LOCK_LOST',
        lockName: 'job',
        message: expect.stringContaining('keepAlive.atMost'),
      })
      expect(lock.remaining()).toBe(0)
      await expect(lock.extend('1h')).rejects.toBe(signal.reason)
      await expect(lock.fencingToken()).rejects.toBe(signal.reason)
      const extended = extensions()
      expect(world.storage.isLocked('job')).toBe(true)
      await jest.advanceTimersByTimeAsync(10 * MINUTE)
      expect(extensions()).toBe(extended)
      const next = await world.storage.lock(job)
      expect(next).toBeDefined()
      return next
    })
    expect(world.heard.filter((event) => event === 'onLockLost job')).toHaveLength(1)
    // The release of a lock that is lost does nothing to that of its successor.
    expect(world.storage.isLocked('job')).toBe(true)
    world.storage.clear()
  })

  it('reports nothing and leaves no timer if the task ends before that', async () => {
    const result = await world.executor.executeWithLock(limited, async () => {
      await jest.advanceTimersByTimeAsync(29 * MINUTE)
      return 'done'
    })
    expect(result).toEqual({ executed: true, value: 'done' })
    expect(world.storage.isLocked('job')).toBe(false)
    expect(jest.getTimerCount()).toBe(0)
    await jest.advanceTimersByTimeAsync(60 * MINUTE)
    expect(world.heard).not.toContain('onLockLost job')
  })
})
