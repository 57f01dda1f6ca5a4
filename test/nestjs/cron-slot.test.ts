import { applyDecorators, Injectable, Logger } from '@nestjs/common'
import { Cron, Interval } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider, runNow } from '../../src/core/internal'
import { SchedulerLock } from '../../src/nestjs'
import { CronSlots } from '../../src/nestjs/cron-slot'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { providerOf } from '../core/provider-of'
import { startWith } from './application'

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

async function start(provider: InMemoryLockProvider, cronTime?: typeof CronTime): Promise<Jobs> {
  return (await startWith({ lockProvider: provider, cronTime }, Jobs)).get(Jobs)
}

async function inTurn(jobs: Jobs, ...names: ('inside' | 'byHandToo' | 'interval')[]): Promise<unknown[]> {
  const values: unknown[] = []
  for (const name of names) values.push(await Promise.resolve(jobs[name]()))
  return values
}

describe('@SchedulerLock beside @Cron, with cronTime', () => {
  test('runs by hand without its slot, and says whether it ran', async () => {
    const provider = new InMemoryLockProvider()
    const jobs = await start(provider, CronTime)
    await Promise.resolve(jobs.inside())
    expect(await Promise.resolve(jobs.inside())).toBeUndefined()
    expect(await runNow(() => jobs.inside())).toEqual({ executed: true, value: 'ran' })
    const other = await provider.lock({ name: 'inside', lockAtMostFor: '1m' })
    expect(await runNow(() => jobs.inside())).toMatchObject({ executed: false, reason: 'held' })
    await other?.unlock()
  })

  test('has a slot of its own, or none', async () => {
    const jobs = await start(new InMemoryLockProvider(), CronTime)
    expect(await inTurn(jobs, 'byHandToo', 'byHandToo')).toEqual(['ran', 'ran'])
    const own = [await Promise.resolve(jobs.own(2)), await Promise.resolve(jobs.own(2))]
    expect([...own, await Promise.resolve(jobs.own(3))]).toEqual(['ran', undefined, 'ran'])
    expect(await inTurn(jobs, 'interval', 'interval')).toEqual(['ran', 'ran'])
  })

  test('has none without cronTime', async () => {
    const jobs = await start(new InMemoryLockProvider())
    expect(await inTurn(jobs, 'inside', 'inside')).toEqual(['ran', 'ran'])
  })
})

describe('@SchedulerLock with catchUp', () => {
  test.each([
    ['@Cron', undefined],
    ['a slot function', () => new Date(2027, 0, 1)],
  ])('runs only what is not later than that: slots of %s', async (_, slot) => {
    jest.useFakeTimers({ now: new Date(2027, 0, 1, 2), doNotFake: ['nextTick', 'setImmediate'] })
    afterTest(() => jest.useRealTimers())
    const ran: string[] = []
    class Jobs {
      @Cron('0 0 1 1 *')
      @SchedulerLock({ name: 'soon enough', lockAtMostFor: '1m', catchUp: '2h', slot })
      soonEnough(): void {
        ran.push('soon enough')
      }

      @Cron('0 0 1 1 *')
      @SchedulerLock({ name: 'too late', lockAtMostFor: '1m', catchUp: '119m', slot })
      tooLate(): void {
        ran.push('too late')
      }
    }
    const application = await startWith(
      { lockProvider: new InMemoryLockProvider(), cronTime: CronTime },
      Jobs,
    )
    await application.close()
    expect(ran).toEqual(['soon enough'])
  })

  test('logs the error of a run, and no refusal', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined)
    afterTest(() => error.mockRestore())
    const storage = new InMemoryLockProvider()
    const asked: string[] = []
    const lockProvider = providerOf((configuration) => {
      asked.push(configuration.name)
      return storage.acquire(configuration)
    })
    let ran = 0
    class Throwing {
      @Cron('0 3 * * *')
      @SchedulerLock({ name: 'throwing', lockAtMostFor: '1m', catchUp: '25h', onSkip: 'throw' })
      nightly(): void {
        ran++
        throw new Error('boom')
      }
    }
    for (const starts of [1, 2, 3]) {
      const application = await startWith({ lockProvider, cronTime: CronTime }, Throwing)
      await application.close()
      expect(asked).toHaveLength(starts)
    }
    expect(ran).toBe(1)
    expect(error.mock.calls).toEqual([['Throwing.nightly failed when catching up', expect.any(String)]])
  })

  test('acquires nothing before the first time of its @Cron', async () => {
    class Once {
      ran = 0

      @Cron(new Date(Date.now() + 3_600_000))
      @SchedulerLock({ name: 'once', lockAtMostFor: '1m', catchUp: '25h' })
      run(): void {
        this.ran++
      }
    }
    const asked: string[] = []
    const onLockAttempt = ({ name }: { name: string }): void => void asked.push(name)
    const locks = { lockProvider: new InMemoryLockProvider(), listeners: [{ onLockAttempt }] }
    await startWith({ ...locks, cronTime: CronTime }, Once)
    expect(asked).toEqual([])
  })
})

test('@SchedulerLock with catchUp and untilSucceeded catches up at the start with a slot that failed', async () => {
  class Failing {
    runs = 0

    @Cron('0 3 * * *')
    @SchedulerLock({ name: 'nightly', lockAtMostFor: '1m', untilSucceeded: true, catchUp: '25h' })
    nightly(): string {
      if (++this.runs === 1) throw new Error('boom')
      return 'ran'
    }
  }
  const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined)
  afterTest(() => error.mockRestore())
  const locks = { lockProvider: new InMemoryLockProvider(), cronTime: CronTime }
  const job = (await startWith(locks, Failing)).get(Failing)
  await eventually(() => expect(error).toHaveBeenCalledTimes(1))
  expect(await Promise.resolve(job.nightly())).toBe('ran')
  const second = (await startWith(locks, Failing)).get(Failing)
  expect([await Promise.resolve(second.nightly()), second.runs]).toEqual([undefined, 0])
})

describe('a method without slots is refused at the start', () => {
  const lockProvider = new InMemoryLockProvider()

  test.each([{ catchUp: '25h' }, { untilSucceeded: true }])('with %j', async (option) => {
    const locked = SchedulerLock({ name: 'job', lockAtMostFor: '1m', ...option })
    class WithoutCron {
      @Interval(1_000_000)
      @locked
      run(): void {
        // never called
      }
    }
    class WithoutCronTime {
      @Cron('0 3 * * *')
      @locked
      run(): void {
        // never called
      }
    }
    const message = expect.stringContaining('needs slots')
    for (const starting of [
      startWith({ lockProvider, cronTime: CronTime }, WithoutCron),
      startWith({ lockProvider }, WithoutCronTime),
    ])
      await expect(starting).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION', message })
  })
})

describe('the slot of @Cron', () => {
  type Options = Parameters<typeof Cron>[1]

  const classWith = (...decorators: MethodDecorator[]): object => {
    class Job {
      @applyDecorators(...decorators)
      run(): void {
        // never called
      }
    }
    return new Job()
  }
  const decorated = (expression: string, options: Options): object => classWith(Cron(expression, options))
  const iso = (slot: number | undefined): string => new Date(slot ?? NaN).toISOString()

  afterEach(() => {
    jest.useRealTimers()
  })

  test.each([
    ['*/15 * * * *', BERLIN, '2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000Z'],
    ['*/15 * * * *', BERLIN, '2026-11-21T12:14:59.000Z', '2026-11-21T12:00:00.000Z'],
    ['*/15 * * * *', BERLIN, '2026-11-21T12:14:59.990Z', '2026-11-21T12:15:00.000Z'],
    ['* * * * * *', BERLIN, '2026-11-21T12:14:59.700Z', '2026-11-21T12:14:59.000Z'],
    ['0 9 * * 1-5', BERLIN, '2026-11-22T12:00:00.000Z', '2026-11-20T08:00:00.000Z'],
    ['0 0 29 2 *', BERLIN, '2026-11-22T12:00:00.000Z', '2024-02-28T23:00:00.000Z'],
    // Ten minutes late, when the next time has passed too.
    ['*/5 * * * *', BERLIN, '2026-11-21T12:10:01.000Z', '2026-11-21T12:10:00.000Z'],
    ['0 9 * * *', { utcOffset: 330 }, '2026-11-22T12:00:00.000Z', '2026-11-22T03:30:00.000Z'],
    ['0 9 * * *', { utcOffset: -210 }, '2026-11-22T12:00:00.000Z', '2026-11-21T12:30:00.000Z'],
    ['0 9 * * *', { utcOffset: 0 }, '2026-11-22T12:00:00.000Z', '2026-11-22T09:00:00.000Z'],
    // The day without this time, the day with two of it, and the hour that comes twice.
    ['30 2 * * *', BERLIN, '2026-03-29T12:00:00.000Z', '2026-03-29T01:00:00.000Z'],
    ['30 2 * * *', BERLIN, '2026-10-25T12:00:00.000Z', '2026-10-25T00:30:00.000Z'],
    ['*/10 * * * * *', BERLIN, '2026-10-25T00:30:07.000Z', '2026-10-25T00:30:00.000Z'],
    ['*/10 * * * * *', BERLIN, '2026-10-25T01:30:07.000Z', '2026-10-25T01:30:00.000Z'],
  ])('%s %j at %s was due at %s', (expression, options, now, due) => {
    const slots = new CronSlots(CronTime)
    expect(iso(slots.slotOf(decorated(expression, options), 'run', Date.parse(now)))).toBe(due)
  })

  test.each([
    ['*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z'],
    ['*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:30:00Z'],
    ['*/30 * * * *', 'Australia/Lord_Howe', '2026-10-03T14:30:00Z'],
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z'],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z'],
  ])('%s in %s is what the scheduler fires when clocks change after %s', (expression, timeZone, from) => {
    const job = decorated(expression, { timeZone })
    const cron = new CronTime(expression, timeZone)
    const kept = new CronSlots(CronTime)
    for (let fire = Date.parse(from), fires = 0; fires < 6; fires++) {
      // Between two equal local times the library chooses by the season in which it is asked.
      jest.useFakeTimers({ now: fire })
      fire = cron.sendAt().toMillis()
      for (const now of [fire - 40, fire + 3, fire + 1_500, fire + 600_000]) {
        jest.setSystemTime(now)
        expect([kept, new CronSlots(CronTime)].map((slots) => iso(slots.slotOf(job, 'run')))).toEqual([
          iso(fire),
          iso(fire),
        ])
      }
    }
  })

  test('is the time of a @Cron with a single one, and none before it', () => {
    const [slots, due] = [new CronSlots(CronTime), new Date('2026-11-21T12:00:00Z')]
    const job = classWith(Cron(due))
    expect(slots.slotOf(job, 'run', Number(due) - 1_000)).toBeUndefined()
    expect(slots.slotOf(job, 'run', Number(due) + 1_000)).toBe(Number(due))
  })

  test('goes back with a clock that is set back', () => {
    const [slots, job] = [new CronSlots(CronTime), decorated('*/15 * * * *', BERLIN)]
    const at = (now: string): string => iso(slots.slotOf(job, 'run', Date.parse(now)))
    expect(at('2026-11-21T12:20:00.000Z')).toBe('2026-11-21T12:15:00.000Z')
    expect(at('2026-11-21T11:20:00.000Z')).toBe('2026-11-21T11:15:00.000Z')
    expect(at('2026-11-21T12:20:00.000Z')).toBe('2026-11-21T12:15:00.000Z')
  })

  test('is found although the library goes back in the hour that occurs twice', () => {
    const due = Date.parse('2026-04-04T15:00:00Z')
    const again = { toMillis: () => due, zoneName: null }
    class Stuck {
      source = '*/15 * * * *'
      sendAt = () => again
      getNextDateFrom = () => again
    }
    expect(new CronSlots(Stuck).slotOf(decorated('*/15 * * * *', {}), 'run', due + 600_000)).toBe(due)
  })

  test('is that of the decorator by which the scheduler calls', () => {
    const slotOf = (...decorators: MethodDecorator[]): number | undefined =>
      new CronSlots(CronTime).slotOf(
        classWith(...decorators.reverse()),
        'run',
        Date.parse('2026-11-21T12:00:00Z'),
      )
    const [atThree, atFour] = [Cron('0 3 * * *', BERLIN), Cron('0 4 * * *', { timeZone: 'UTC' })]
    expect(slotOf(atThree)).toBeDefined()
    expect(slotOf(Interval(1_000), atThree)).toBeUndefined()
    expect(iso(slotOf(atFour, Interval(1_000), atThree))).toBe('2026-11-21T04:00:00.000Z')
  })

  test('costs one call of the library when a run is on time, and none until it is due again', () => {
    const looks = jest.spyOn(CronTime.prototype, 'getNextDateFrom')
    afterTest(() => looks.mockRestore())
    const lookedFor = (now: number): number => {
      looks.mockClear()
      slots.slotOf(job, 'run', now)
      return looks.mock.calls.length
    }
    const [slots, job] = [new CronSlots(CronTime), decorated('0 3 * * *', BERLIN)]
    const [due, day] = [Date.parse('2026-11-20T02:00:00Z'), 86_400_000]
    slots.slotOf(job, 'run', due - day)
    expect([lookedFor(due + 3), lookedFor(due + 900)]).toEqual([1, 0])
    // By hand, later that day: it looks when the method is due next.
    expect([lookedFor(due + 36_000_000), lookedFor(due + 36_000_001)]).toEqual([2, 0])
    expect(lookedFor(due + day + 3)).toBeLessThanOrEqual(1)
  })
})
