import { afterEach, describe, expect, it } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { activeLock, assertLocked, makeAllAssertsPass } from '../../src/core/scope'
import { alwaysFree, assumeLocked, FakeClock } from '../../src/testing/unit-test-support'
import { lockError } from '../lock-error'

const notLocked = expect.objectContaining({ code: 'NOT_LOCKED' })

describe('assumeLocked', () => {
  it('lets a job that asserts and extends its lock be tested alone, and gives its value', async () => {
    const job = async () => {
      assertLocked()
      expect(activeLock()?.remaining()).toBeGreaterThan(600_000)
      await activeLock()?.extend('2h')
      return activeLock()?.signal.aborted
    }
    expect(await assumeLocked(job)).toBe(false)
  })

  it('reaches only what is called inside', async () => {
    const inside = assumeLocked(() => Promise.resolve().then(assertLocked))
    expect(assertLocked).toThrow(notLocked)
    await inside
    expect(assertLocked).toThrow(notLocked)
  })

  it('lets the error of the job through', async () => {
    await expect(assumeLocked(() => Promise.reject(new Error('business')))).rejects.toThrow('business')
  })
})

describe('makeAllAssertsPass', () => {
  afterEach(() => makeAllAssertsPass(false))

  it('switches the assertion off and on, however often it is called', () => {
    makeAllAssertsPass(false)
    expect(assertLocked).toThrow(notLocked)
    for (let twice = 0; twice < 2; twice++) makeAllAssertsPass(true)
    assertLocked()
    makeAllAssertsPass(false)
    expect(assertLocked).toThrow(notLocked)
  })
})

it('a FakeClock only goes forward', () => {
  const clock = new FakeClock()
  for (const duration of ['1s', 500]) clock.advance(duration)
  expect(() => clock.advance(-1)).toThrow(LockError)
  expect(clock.now()).toBe(1_500)
})

it('a lock that is always free keeps nobody out, and is a lock for its task', async () => {
  const provider = alwaysFree()
  const here = new LockingTaskExecutor(provider)
  const job = { name: 'job', lockAtMostFor: '1m', lockAtLeastFor: '1m' }
  const result = await here.executeWithLock(job, async ({ lock, signal }) => {
    assertLocked('job')
    const beside = await provider.lock(job)
    // As that of a real lock, it is greater than the one before, and never 0.
    expect([await lock.fencingToken(), await beside?.fencingToken()]).toEqual([1, 2])
    expect(lock.remaining()).toBeLessThanOrEqual(60_000)
    await lock.extend('1h')
    expect(lock.remaining()).toBeGreaterThan(60_000)
    return signal.aborted
  })
  expect(result).toEqual({ executed: true, value: false })
  const nameless = provider.lock({ name: '', lockAtMostFor: '1m' })
  await expect(nameless).rejects.toEqual(lockError('INVALID_CONFIGURATION'))
})
