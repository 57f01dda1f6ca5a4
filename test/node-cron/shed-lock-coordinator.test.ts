import cron, { type SkipReason } from 'node-cron'
import { describe, expect, jest, test } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { shedLockCoordinator } from '../../src/node-cron/shed-lock-coordinator'
import { FakeClock } from '../../src/testing/unit-test-support'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { migrated, openMemory } from '../backends/open-database'
import { FaultyLockProvider } from '../core/faulty-lock-provider'
import { providerOf } from '../core/provider-of'
import { recorder } from '../core/recorder'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { startVirtualTime } from '../core/virtual-time'

const MIDNIGHT = Date.parse('2026-11-20T00:00:00.000Z')
const key = (second: number, task = 'report'): string =>
  `${task}:${new Date(MIDNIGHT + second * 1_000).toISOString()}`

/** Locks in a table of its own. What each database does with a slot is in test/conformance. */
const newProvider = async () => typeOrmLockProvider(await openMemory(migrated()))

describe('a coordinator', () => {
  test('skips a fire while the run before lasts, and whatever else locks its name', async () => {
    const provider = await newProvider()
    const [one, two] = [shedLockCoordinator(provider), shedLockCoordinator(provider)]
    expect(await one.shouldRun(key(0), 30_000)).toBe(true)
    expect(await two.shouldRun(key(1), 30_000)).toBe(false)
    expect(await provider.lock({ name: 'report', lockAtMostFor: '1m' })).toBeUndefined()
    expect(await two.shouldRun(key(1, 'another'), 30_000)).toBe(true)
    await one.onComplete(key(0))
    expect(await two.shouldRun(key(2), 30_000)).toBe(true)
  })

  test('at shutdown lets no more run, and waits until the locks are free', async () => {
    const provider = await newProvider()
    const coordinator = shedLockCoordinator(provider)
    expect(await coordinator.shouldRun(key(0), 30_000)).toBe(true)
    const asked = coordinator.shouldRun(key(0, 'asked: twice'), 30_000)
    const shutdown = coordinator.shutdown({ timeout: '20s' })
    expect(await asked).toBe(false)
    expect(await coordinator.shouldRun(key(0, 'late'), 30_000)).toBe(false)
    await coordinator.onComplete(key(0))
    expect(await shutdown).toEqual([])
    const another = shedLockCoordinator(provider)
    expect(await another.shouldRun(key(0, 'asked: twice'), 30_000)).toBe(true)
    expect(await another.shouldRun(key(1), 30_000)).toBe(true)
    expect(await another.shutdown({ timeout: 1 })).toEqual(['asked: twice', 'report'])
  })

  test('a release that fails is reported to the listeners, and node-cron goes on', async () => {
    const { heard, listener } = recorder()
    const provider = new FaultyLockProvider(new InMemoryLockProvider(new FakeClock()))
    const coordinator = shedLockCoordinator(provider, { listeners: [listener] })
    provider.faults.unlock = new Error('gone')
    expect(await coordinator.shouldRun(key(0), 60_000)).toBe(true)
    await coordinator.onComplete(key(0))
    expect(heard.at(-1)).toBe('onUnlockFailed report')
    expect(await coordinator.shutdown()).toEqual([])
  })

  test('a run whose end node-cron does not report ends with its lock: a shutdown does not wait for it', async () => {
    startVirtualTime()
    const { heard, listener } = recorder()
    const provider = new InMemoryLockProvider()
    const [drain, drainAll] = [jest.fn<() => Promise<void>>(), jest.fn<() => Promise<void>>()]
    const ofCaller = { acquire: provider.acquire.bind(provider), drain }
    Object.assign(provider, { forCaller: () => ofCaller, drain: drainAll })
    const coordinator = shedLockCoordinator(provider, { listeners: [listener] })
    expect(await coordinator.shouldRun(key(0), 60_000)).toBe(true)
    await jest.advanceTimersByTimeAsync(59_999)
    expect(heard.at(-1)).toBe('onTaskStarted report')
    await jest.advanceTimersByTimeAsync(1)
    const events = ['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onLockLost', 'onTaskFinished']
    expect(heard).toEqual(events.map((each) => `${each} report`))
    // No time passes any more: it has nothing to wait for.
    expect(await coordinator.shutdown({ timeout: '1h' })).toEqual([])
    // It waits for the releases that it has begun itself.
    expect([drain.mock.calls, drainAll.mock.calls]).toEqual([[[3_600_000]], []])
    await coordinator.onComplete(key(0))
    expect(heard).toHaveLength(events.length)
  })

  test('a lock that is lost before its run starts lets nothing run', async () => {
    startVirtualTime()
    const listener = { onTaskStarted: () => jest.advanceTimersByTime(60_000) }
    const coordinator = shedLockCoordinator(new InMemoryLockProvider(), { listeners: [listener] })
    expect(await coordinator.shouldRun(key(0), 60_000)).toBe(false)
    expect(await coordinator.shutdown({ timeout: '1h' })).toEqual([])
  })

  test('the release of a run records no outcome, because node-cron does not say whether it succeeded', async () => {
    const provider = await newProvider()
    const coordinator = shedLockCoordinator(provider)
    expect(await coordinator.shouldRun(key(0), 60_000)).toBe(true)
    await coordinator.onComplete(key(0))
    const run = { held: false, lastRun: { outcome: 'unlocked' } }
    expect(await provider.table.find('report')).toMatchObject(run)
    // Nor does a fire run again, or one before it, however late an instance is.
    for (const second of [0, -30]) expect(await coordinator.shouldRun(key(second), 60_000)).toBe(false)
  })

  test.each([
    ['report', 'use node-cron 4.4'],
    [':2026-11-20T00:00:00.000Z', 'set the name of the task'],
    ['report:1234567890123456789012', 'use node-cron 4.4'],
  ])('refuses the key %s', async (wrong, advice) => {
    const asked = shedLockCoordinator(new InMemoryLockProvider()).shouldRun(wrong, 1_000)
    await expect(asked).rejects.toEqual(lockError('INVALID_CONFIGURATION', advice))
  })
})

describe('with node-cron itself', () => {
  test('a fire that the database cannot decide is skipped as coordinator-error', async () => {
    const broken = providerOf(() => Promise.reject(new LockError('TIMEOUT', 'No answer')))
    const [ran, skipped]: [unknown[], (SkipReason | undefined)[]] = [[], []]
    const silent = { info: jest.fn(), warn: jest.fn(), error: jest.fn(), debug: jest.fn() }
    const options = { name: 'job', distributed: true, runCoordinator: shedLockCoordinator(broken) }
    const task = cron.schedule('* * * * * *', () => ran.push(1), { ...options, logger: silent })
    task.on('execution:skipped', ({ reason }) => void skipped.push(reason))
    afterTest(() => task.destroy())
    await eventually(() => expect(skipped).toContain('coordinator-error'))
    expect(ran).toEqual([])
  })

  test('a run that execute() starts does not ask for a lock', async () => {
    const asked: string[] = []
    const refusing = providerOf(({ name }) => {
      asked.push(name)
      return Promise.resolve({ reason: 'held' })
    })
    const options = { name: 'job', distributed: true, runCoordinator: shedLockCoordinator(refusing) }
    const task = cron.createTask('0 0 1 1 *', () => 'ran', options)
    afterTest(() => task.destroy())
    expect(await task.execute()).toBe('ran')
    expect(asked).toEqual([])
  })
})
