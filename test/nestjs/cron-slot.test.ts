import { Injectable } from '@nestjs/common'
import { Cron, Interval } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { describe, expect, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core'
import { SchedulerLock, ShedLockModule } from '../../src/nestjs'
import { cronSlot } from '../../src/nestjs/cron-slot'
import { eventually } from '../eventually'
import { startApplication } from './application'

const BERLIN = { timeZone: 'Europe/Berlin' }

@Injectable()
class Jobs {
  @Cron('*/15 * * * *', BERLIN)
  @SchedulerLock({ name: 'inside', lockAtMostFor: '1m' })
  inside(): string {
    return 'ran'
  }

  @SchedulerLock({ name: 'outside', lockAtMostFor: '1m' })
  @Cron('*/15 * * * *', BERLIN)
  outside(): string {
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
  const imports = [ShedLockModule.forRoot({ lockProvider: provider, cronTime })]
  return (await startApplication({ imports, providers: [Jobs] })).get(Jobs)
}

describe('@SchedulerLock beside @Cron, with cronTime', () => {
  test.each(['inside', 'outside'] as const)(
    'runs once for each time at which it is due: %s',
    async (name) => {
      const provider = new InMemoryLockProvider()
      const [one, two] = [await start(provider, CronTime), await start(provider, CronTime)]
      expect(await Promise.resolve(one[name]())).toBe('ran')
      expect(await Promise.resolve(two[name]())).toBeUndefined()
    },
  )

  test('has a slot of its own, or none', async () => {
    const jobs = await start(new InMemoryLockProvider(), CronTime)
    expect([await Promise.resolve(jobs.byHandToo()), await Promise.resolve(jobs.byHandToo())]).toEqual([
      'ran',
      'ran',
    ])
    expect([
      await Promise.resolve(jobs.own(2)),
      await Promise.resolve(jobs.own(2)),
      await Promise.resolve(jobs.own(3)),
    ]).toEqual(['ran', undefined, 'ran'])
    expect([await Promise.resolve(jobs.interval()), await Promise.resolve(jobs.interval())]).toEqual([
      'ran',
      'ran',
    ])
  })

  test('has none without cronTime', async () => {
    const jobs = await start(new InMemoryLockProvider())
    expect([await Promise.resolve(jobs.inside()), await Promise.resolve(jobs.inside())]).toEqual([
      'ran',
      'ran',
    ])
  })

  test('is refused for wrong options', () => {
    const lockProvider = new InMemoryLockProvider()
    const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
    expect(() => ShedLockModule.forRoot({ lockProvider, cronTime: '* * * * *' as never })).toThrow(invalid)
    expect(() => SchedulerLock({ name: 'job', slot: 1 as never })).toThrow(invalid)
  })
})

describe('@SchedulerLock with catchUp', () => {
  let runs = 0

  class CatchingUp {
    @Cron('0 3 * * *')
    @SchedulerLock({ name: 'nightly', lockAtMostFor: '1m', catchUp: true })
    nightly(): void {
      runs++
      throw new Error('boom')
    }
  }
  class WithoutSlots {
    @SchedulerLock({ name: 'any time', lockAtMostFor: '1m', catchUp: true })
    anyTime(): void {
      runs++
    }
  }

  test('runs at the start what was due last, once, and bears its error', async () => {
    const lockProvider = new InMemoryLockProvider()
    const imports = [ShedLockModule.forRoot({ lockProvider, cronTime: CronTime })]
    await startApplication({ imports, providers: [CatchingUp] })
    await eventually(() => {
      expect(runs).toBe(1)
    })
    const second = await startApplication({ imports, providers: [CatchingUp] })
    await second.close()
    expect(runs).toBe(1)
  })

  test('is refused at the start for a method without slots', async () => {
    const lockProvider = new InMemoryLockProvider()
    for (const providers of [[WithoutSlots], [CatchingUp]]) {
      const imports = [ShedLockModule.forRoot({ lockProvider })]
      await expect(startApplication({ imports, providers })).rejects.toMatchObject({
        code: 'INVALID_CONFIGURATION',
        message: expect.stringContaining('cannot catch up'),
      })
    }
  })
})

describe('the slot of @Cron', () => {
  test.each([
    ['*/15 * * * *', '2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000Z'],
    ['*/15 * * * *', '2026-11-21T12:14:59.000Z', '2026-11-21T12:00:00.000Z'],
    ['*/15 * * * *', '2026-11-21T12:14:59.990Z', '2026-11-21T12:15:00.000Z'],
    ['* * * * * *', '2026-11-21T12:14:59.700Z', '2026-11-21T12:14:59.000Z'],
    ['0 9 * * 1-5', '2026-11-22T12:00:00.000Z', '2026-11-20T08:00:00.000Z'],
    ['0 0 29 2 *', '2026-11-22T12:00:00.000Z', '2024-02-28T23:00:00.000Z'],
    // The day without this time, the day with two of it, and the hour that comes twice.
    ['30 2 * * *', '2026-03-29T12:00:00.000Z', '2026-03-29T01:00:00.000Z'],
    ['30 2 * * *', '2026-10-25T12:00:00.000Z', '2026-10-25T00:30:00.000Z'],
    ['*/10 * * * * *', '2026-10-25T00:30:07.000Z', '2026-10-25T00:30:00.000Z'],
    ['*/10 * * * * *', '2026-10-25T01:30:07.000Z', '2026-10-25T01:30:00.000Z'],
  ])('%s at %s was due at %s', (expression, now, due) => {
    const method = (): void => undefined
    Cron(expression, BERLIN)({}, 'method', { value: method })
    expect(new Date(cronSlot(method, CronTime, Date.parse(now)) ?? NaN).toISOString()).toBe(due)
  })
})
