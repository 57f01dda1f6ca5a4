import { Injectable, Logger, Scope, type Type } from '@nestjs/common'
import { Cron, Interval } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { describe, expect, jest, test } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { parseJob } from '../../src/core/jobs'
import { runNow } from '../../src/core/wrapped-task'
import { LockingTaskExecutors } from '../../src/nestjs/locking-task-executors'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { CronSlots } from '../../src/nestjs/cron-slot'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { migrated, openMemory } from '../backends/open-database'
import { providerOf } from '../core/provider-of'
import { eventually } from '../eventually'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { lockError } from '../lock-error'
import { startScheduler, startWith } from './application'
import { jobClass } from './job-class'
import { startVirtualTime } from '../core/virtual-time'

const jobWith = (...decorators: MethodDecorator[]) => jobClass(decorators, () => 'ran')

const BERLIN = { timeZone: 'Europe/Berlin' }

@Injectable()
class Jobs {
  @Cron('*/15 * * * *', BERLIN)
  @SchedulerLock({ name: 'inside', lockAtMostFor: '1m' })
  inside(): string {
    return 'ran'
  }

  @Cron('*/15 * * * *')
  @SchedulerLock({ name: 'by hand too', lockAtMostFor: '1m', slot: false })
  byHandToo(): string {
    return 'ran'
  }

  @Cron('0 3 * * *')
  @SchedulerLock({ name: 'own', lockAtMostFor: '1m', slot: (due: number) => due })
  own(due: number): string {
    return due > 0 ? 'ran' : 'early'
  }

  @Interval(1_000_000)
  @SchedulerLock({ name: 'interval', lockAtMostFor: '1m' })
  interval(): string {
    return 'ran'
  }
}

async function start(cronTime?: typeof CronTime): Promise<Jobs> {
  return (await startWith({ cronTime }, Jobs)).get(Jobs)
}

async function inTurn(jobs: Jobs, ...names: ('inside' | 'byHandToo' | 'interval')[]): Promise<unknown[]> {
  const values: unknown[] = []
  for (const name of names) values.push(await Promise.resolve(jobs[name]()))
  return values
}

describe('@SchedulerLock beside @Cron, with cronTime', () => {
  test('tells the lock page when it is due, and how to run it', async () => {
    const OfRequest = jobWith(Cron('0 3 * * *'), SchedulerLock({ name: 'of a request', lockAtMostFor: '1m' }))
    Injectable({ scope: Scope.REQUEST })(OfRequest)
    const application = await startWith({ cronTime: CronTime }, Jobs, OfRequest)
    const { jobs } = application.get(LockingTaskExecutors)
    expect(Object.keys(jobs)).toEqual(['inside', 'by hand too', 'own', 'interval'])
    const { due, run } = parseJob(jobs['inside'] ?? {}, 'inside')
    expect(due?.next(Date.UTC(2026, 0, 1, 0, 1))).toBe(Date.UTC(2026, 0, 1, 0, 15))
    // Each of its calls has the slot that its function returns, so nobody knows which one is missing.
    expect(parseJob(jobs['own'] ?? {}, 'own').due).toBeUndefined()
    expect(parseJob(jobs['interval'] ?? {}, 'interval').due).toBeUndefined()
    const byHand = await runNow(() => run?.({ user: 'ann', reason: 'r' }))
    expect(byHand).toEqual({ executed: true, value: 'ran' })
  })

  test('has a slot of its own, or none', async () => {
    const jobs = await start(CronTime)
    expect(await inTurn(jobs, 'byHandToo', 'byHandToo')).toEqual(['ran', 'ran'])
    const own = [await Promise.resolve(jobs.own(2)), await Promise.resolve(jobs.own(2))]
    expect([...own, await Promise.resolve(jobs.own(3))]).toEqual(['ran', undefined, 'ran'])
    expect(await inTurn(jobs, 'interval', 'interval')).toEqual(['ran', 'ran'])
    const withoutCronTime = await start()
    expect(await inTurn(withoutCronTime, 'inside', 'inside')).toEqual(['ran', 'ran'])
  })
})

describe('a method with neither slots nor lockAtLeastFor', () => {
  const warningsOf = async (options: object, ...jobs: Type[]): Promise<string[]> => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    await startWith({ defaultLockAtLeastFor: undefined, ...options }, ...jobs)
    const names = warning.mock.calls.map(([message]) => /'(.*?)'/.exec(String(message))?.[1] ?? '')
    warning.mockRestore()
    return names
  }
  const locked = (name: string, more: object = {}) => SchedulerLock({ name, lockAtMostFor: '1m', ...more })
  const atThree = Cron('0 3 * * *')

  test('is warned of when the application starts', async () => {
    expect(await warningsOf({}, jobWith(atThree, locked('cron')))).toEqual(['cron'])
    const jobs = [
      jobWith(atThree, locked('slots of @Cron')),
      jobWith(atThree, locked('no slots', { slot: false })),
      jobWith(Interval(1_000_000), locked('an interval')),
    ]
    expect(await warningsOf({ cronTime: CronTime }, ...jobs)).toEqual(['no slots', 'an interval'])
  })

  test('is not warned of if it has one of them, or the module a default', async () => {
    const jobs = [
      jobWith(locked('a slot', { slot: () => 1 })),
      jobWith(atThree, locked('at least', { lockAtLeastFor: () => '1s' })),
      jobWith(atThree, locked('known', { lockAtLeastFor: 0 })),
    ]
    expect(await warningsOf({}, ...jobs)).toEqual([])
    const job = jobWith(atThree, locked('defaults'))
    expect(await warningsOf({ defaultLockAtLeastFor: 0 }, job)).toEqual([])
  })
})

describe('@SchedulerLock with catchUp', () => {
  test.each([
    ['@Cron', undefined],
    [
      'a slot function',
      function (this: object) {
        return new Date(this.constructor.name === 'Job' ? 2027 : NaN, 0, 1)
      },
    ],
  ])('runs only what is not later than that: slots of %s', async (_, slot) => {
    startVirtualTime({
      now: new Date(2027, 0, 1, 2),
      doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'],
    })
    const ran: string[] = []
    const jobs = ['2h', '119m'].map((catchUp) => {
      const locked = SchedulerLock({ name: catchUp, lockAtMostFor: '1m', catchUp, slot })
      return jobClass([Cron('0 0 1 1 *'), locked], () => ran.push(catchUp))
    })
    await (await startScheduler({ cronTime: CronTime }, ...jobs)).close()
    expect(ran).toEqual(['2h'])
  })

  test('waits for the database, and does not run what nobody has run before', async () => {
    const lockProvider = typeOrmLockProvider(await openMemory(migrated()))
    const yearBefore = new Date(new Date().getFullYear() - 1, 0, 1)
    await (await lockProvider.lock({ name: 'old', lockAtMostFor: '1m', slot: yearBefore }))?.unlock()
    const away = new LockError('DATABASE_ERROR', 'The database is away.')
    const find = jest.spyOn(lockProvider.table, 'find').mockRejectedValueOnce(away)
    const acquired = lockProvider.forCaller()
    jest.spyOn(acquired, 'acquire').mockRejectedValueOnce(away)
    jest.spyOn(lockProvider, 'forCaller').mockReturnValue(acquired)
    const ran: string[] = []
    const job = (own: string, name: string | (() => string)) => {
      const locked = SchedulerLock({ name, lockAtMostFor: '1m', catchUp: '366d' })
      return jobClass([Cron('0 0 1 1 *'), locked], () => ran.push(own))
    }
    const own = { lockAtMostFor: '1m', catchUp: '1h', slot: () => new Date() }
    const jobs = [
      ...[job('old', () => 'old'), job('new', 'new')],
      jobClass([SchedulerLock({ name: 'own', ...own })], () => ran.push('own')),
      jobClass([SchedulerLock({ name: 'in memory', provider: 'memory', ...own })], () =>
        ran.push('in memory'),
      ),
    ]
    const lockProviders = { memory: new InMemoryLockProvider() }
    await startScheduler({ lockProvider, lockProviders, cronTime: CronTime }, ...jobs)
    await eventually(() => expect(ran).toContain('old'), { timeout: 10_000 })
    expect(find.mock.calls.map(([name]) => name)).toEqual(['old', 'new', 'own', 'old', 'old'])
    // Memory has forgotten who ran.
    expect(ran).toEqual(['in memory', 'old'])
  })

  test('logs the error of a run, and no refusal', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined)
    const storage = new InMemoryLockProvider()
    const asked: string[] = []
    const lockProvider = providerOf((configuration) => {
      asked.push(configuration.name)
      return storage.acquire(configuration)
    })
    const closing = promiseWithResolvers()
    let ran = 0
    const locked = SchedulerLock({ name: 'job', lockAtMostFor: '1m', catchUp: '25h', onSkip: 'throw' })
    const Throwing = jobClass([Cron('0 3 * * *'), locked], async () => {
      ran++
      await closing.promise
      throw new Error('boom')
    })
    for (const starts of [1, 2, 3]) {
      const application = await startScheduler({ lockProvider, cronTime: CronTime }, Throwing)
      const closed = application.close()
      closing.resolve()
      await closed
      expect(asked).toHaveLength(starts)
    }
    // What the database does not answer any more is no error of the shutdown.
    const gone = providerOf(() => Promise.reject(new LockError('TIMEOUT', 'no answer')))
    await (await startScheduler({ lockProvider: gone, cronTime: CronTime }, Throwing)).close()
    expect(ran).toBe(1)
    expect(error.mock.calls).toEqual([['Job.run failed when catching up', expect.any(String)]])
  })
})

describe('a method without slots is refused at the start', () => {
  test.each([{ catchUp: '25h' }, { untilSucceeded: true }])('with %j', async (option) => {
    const locked = SchedulerLock({ name: 'job', lockAtMostFor: '1m', ...option })
    for (const starting of [
      startWith({ cronTime: CronTime }, jobWith(Interval(1_000_000), locked)),
      startWith({}, jobWith(Cron('0 3 * * *'), locked)),
    ])
      await expect(starting).rejects.toEqual(lockError('INVALID_CONFIGURATION', 'needs slots'))
  })
})

describe('the slot of @Cron', () => {
  const iso = (slot: number | undefined): string => new Date(slot ?? NaN).toISOString()

  // test/core/slot-of.test.ts has other times of other expressions.
  test.each([
    ['*/15 * * * *', BERLIN, '2026-11-21T12:14:59.990Z', '2026-11-21T12:15:00.000Z'],
    ['0 9 * * *', { utcOffset: -210 }, '2026-11-22T12:00:00.000Z', '2026-11-21T12:30:00.000Z'],
    ['0 9 * * *', { utcOffset: 0 }, '2026-11-22T12:00:00.000Z', '2026-11-22T09:00:00.000Z'],
  ])('%s %j at %s was due at %s', (expression, options, now, due) => {
    const slots = new CronSlots(CronTime)
    const job = new (jobWith(Cron(expression, options)))()
    expect(iso(slots.slotOf(job, 'run', Date.parse(now)))).toBe(due)
    // As an agent replaces it later.
    Object.assign(Object.getPrototypeOf(job) as object, { run: () => 'ran' })
    expect(iso(slots.slotOf(job, 'run', Date.parse(now)))).toBe(due)
  })

  test('is the time of a @Cron with a single one, and none before it', () => {
    const [slots, due] = [new CronSlots(CronTime), new Date('2026-11-21T12:00:00Z')]
    const job = new (jobWith(Cron(due)))()
    expect(slots.slotOf(job, 'run', Number(due) - 1_000)).toBeUndefined()
    expect(slots.slotOf(job, 'run', Number(due) + 1_000)).toBe(Number(due))
  })

  test('is that of the decorator by which the scheduler calls', () => {
    const now = Date.parse('2026-11-21T12:00:00Z')
    const slotOf = (...decorators: MethodDecorator[]): number | undefined =>
      new CronSlots(CronTime).slotOf(new (jobWith(...decorators))(), 'run', now)
    const [atThree, atFour] = [Cron('0 3 * * *', BERLIN), Cron('0 4 * * *', { timeZone: 'UTC' })]
    expect(slotOf(atThree)).toBeDefined()
    expect(slotOf(Interval(1_000), atThree)).toBeUndefined()
    expect(iso(slotOf(atFour, Interval(1_000), atThree))).toBe('2026-11-21T04:00:00.000Z')
  })
})
