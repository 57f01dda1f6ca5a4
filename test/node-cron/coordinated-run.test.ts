import { afterEach, expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider, type Acquisition } from '../../src/core/internal'
import { shedLockCoordinator } from '../../src/node-cron'
import { FakeClock } from '../../src/testing'
import { FaultyLockProvider } from '../core/faulty-lock-provider'
import { providerOf } from '../core/provider-of'
import { recorder } from '../core/recorder'

const KEY = 'report:2026-11-20T20:44:53.000Z'

afterEach(() => {
  jest.useRealTimers()
})

test('The listeners of a coordinator receive the events of a fire that runs, and of one that is skipped', async () => {
  const provider = new InMemoryLockProvider()
  const [here, there] = [recorder(), recorder()]
  const one = shedLockCoordinator(provider, { listeners: [here.listener] })
  const two = shedLockCoordinator(provider, { listeners: [there.listener] })
  expect(await one.shouldRun(KEY, 60_000)).toBe(true)
  expect(await two.shouldRun(KEY, 60_000)).toBe(false)
  await one.onComplete(KEY)
  expect(here.heard).toEqual([
    'onLockAttempt report',
    'onLockAcquired report',
    'onTaskStarted report',
    'onTaskFinished report',
  ])
  expect(there.heard).toEqual(['onLockAttempt report', 'onLockNotAcquired report held'])
  expect(await one.shutdown()).toEqual([])
})

test('The listeners of a coordinator receive the errors of an acquisition and of a release', async () => {
  const { heard, listener } = recorder()
  const provider = new FaultyLockProvider(new InMemoryLockProvider(new FakeClock()))
  const coordinator = shedLockCoordinator(provider, { listeners: [listener] })
  provider.faults.lock = new Error('away')
  await expect(coordinator.shouldRun(KEY, 60_000)).rejects.toThrow('away')
  expect(heard.at(-1)).toBe('onLockFailed report')

  delete provider.faults.lock
  provider.faults.unlock = new Error('gone')
  expect(await coordinator.shouldRun(KEY, 60_000)).toBe(true)
  await coordinator.onComplete(KEY)
  expect(heard.at(-1)).toBe('onUnlockFailed report')
  expect(await coordinator.shutdown()).toEqual([])
})

test('A run whose end node-cron does not report ends with its lock: a shutdown does not wait for it', async () => {
  jest.useFakeTimers()
  const { heard, listener } = recorder()
  const coordinator = shedLockCoordinator(new InMemoryLockProvider(), { listeners: [listener] })
  expect(await coordinator.shouldRun(KEY, 60_000)).toBe(true)
  await jest.advanceTimersByTimeAsync(59_999)
  expect(heard.at(-1)).toBe('onTaskStarted report')
  await jest.advanceTimersByTimeAsync(1)
  const events = ['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onLockLost', 'onTaskFinished']
  expect(heard).toEqual(events.map((each) => `${each} report`))
  // No time passes any more: it has nothing to wait for.
  expect(await coordinator.shutdown({ timeout: '1h' })).toEqual([])
  await coordinator.onComplete(KEY)
  expect(heard).toHaveLength(events.length)
})

test('A lock whose lease is over when its answer arrives is an error, and nothing runs', async () => {
  jest.useFakeTimers()
  const { heard, listener } = recorder()
  const storage = new InMemoryLockProvider()
  const slow = providerOf(async (configuration) => {
    const acquired = await storage.acquire(configuration)
    jest.advanceTimersByTime(60_000)
    return acquired
  })
  const late = {
    code: 'TIMEOUT',
    lockName: 'report',
    message: expect.stringContaining('its lease of 60000 ms was over'),
  }
  const coordinator = shedLockCoordinator(slow, { listeners: [listener] })
  await expect(coordinator.shouldRun(KEY, 60_000)).rejects.toMatchObject(late)
  expect(heard).toEqual(['onLockAttempt report', 'onLockFailed report'])
  expect(await coordinator.shutdown({ timeout: '1h' })).toEqual([])
})

test('The release of a run records no outcome, because node-cron does not say whether it succeeded', async () => {
  const storage = new InMemoryLockProvider()
  const outcomes: unknown[] = []
  const provider = providerOf(async (configuration) => {
    const acquired = await storage.acquire(configuration)
    if ('reason' in acquired) return acquired
    return Object.freeze({
      ...acquired,
      unlock: (outcome: Parameters<Acquisition['unlock']>[0]) => {
        outcomes.push(outcome)
        return acquired.unlock(outcome)
      },
    })
  })
  const coordinator = shedLockCoordinator(provider)
  expect(await coordinator.shouldRun(KEY, 60_000)).toBe(true)
  expect(storage.isLocked('report')).toBe(true)
  await coordinator.onComplete(KEY)
  expect(storage.isLocked('report')).toBe(false)
  expect(outcomes).toEqual([undefined])
  expect(await coordinator.shouldRun(KEY, 60_000)).toBe(false)
})
