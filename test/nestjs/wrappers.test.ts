import { Logger, type Type } from '@nestjs/common'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/internal'
import { SchedulerLock, ShedLockModule, type SchedulerLockOptions } from '../../src/nestjs'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { startApplication } from './application'
import { WRAPPERS, type WrappedJob } from './wrappers'

const ORDERS = [
  ['@Cron', 'wrapper', '@SchedulerLock'],
  ['@Cron', '@SchedulerLock', 'wrapper'],
  ['@SchedulerLock', '@Cron', 'wrapper'],
  ['@SchedulerLock', 'wrapper', '@Cron'],
  ['wrapper', '@Cron', '@SchedulerLock'],
  ['wrapper', '@SchedulerLock', '@Cron'],
] as const

const CASES = WRAPPERS.flatMap(({ wrapper, decorator, copiesMetadata }) =>
  ORDERS.filter((order) => copiesMetadata || order.indexOf('@Cron') < order.indexOf('wrapper')).map(
    (order) => ({ wrapper, order: order.join(' '), parts: order, decorator }),
  ),
)

type MakeJob = (decorators: readonly MethodDecorator[], task: () => unknown) => Type<WrappedJob>

/** A folder is compiled as its tsconfig.json says, so the path must not make it part of this one. */
const makeJob = (kind: string): MakeJob =>
  jest.requireActual<{ wrappedJob: MakeJob }>(`./${kind}/wrapped-job.ts`).wrappedJob

let warnings: string[]
beforeEach(() => {
  warnings = []
  jest
    .spyOn(Logger.prototype, 'warn')
    .mockImplementation((message: unknown) => void warnings.push(String(message)))
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined)
  afterTest(() => jest.restoreAllMocks())
})

describe.each(['legacy', 'standard'])('%s decorators', (kind) => {
  describe.each(CASES)('$order, the wrapper is $wrapper', ({ parts, decorator }) => {
    const jobOf = (options: Partial<SchedulerLockOptions>, task: () => unknown): Type<WrappedJob> => {
      const decorators = {
        '@Cron': Cron('0 3 * * *', { timeZone: 'Europe/Berlin' }),
        '@SchedulerLock': SchedulerLock({ name: 'job', lockAtMostFor: '1m', ...options }) as MethodDecorator,
        wrapper: decorator,
      }
      return makeJob(kind)(
        parts.map((part) => decorators[part]),
        task,
      )
    }
    const start = async (job: Type<WrappedJob>, lockProvider = new InMemoryLockProvider()) => {
      const locks = { lockProvider, cronTime: CronTime, warnOfUnlockedCrons: true }
      const imports = [ScheduleModule.forRoot(), ShedLockModule.forRoot(locks)]
      return startApplication({ imports, providers: [job] })
    }

    test('slot: runs once for each due time', async () => {
      const lockProvider = new InMemoryLockProvider()
      const job = jobOf({}, () => 'ran')
      const [one, two] = [await start(job, lockProvider), await start(job, lockProvider)]
      expect(await one.get(job).run()).toBe('ran')
      expect(await two.get(job).run()).toBeUndefined()
    })

    test('untilSucceeded: repeats a slot that failed, and none that succeeded', async () => {
      let runs = 0
      const job = jobOf({ untilSucceeded: true }, () => {
        if (++runs === 1) throw new Error('boom')
        return 'ran'
      })
      const application = await start(job)
      await expect(Promise.resolve(application.get(job).run())).rejects.toThrow('boom')
      expect([await application.get(job).run(), await application.get(job).run()]).toEqual(['ran', undefined])
    })

    test('catchUp: runs the last slot at the start, once', async () => {
      let runs = 0
      const job = jobOf({ catchUp: '366d' }, () => ++runs)
      const lockProvider = new InMemoryLockProvider()
      await start(job, lockProvider)
      await eventually(() => expect(runs).toBe(1))
      const second = await start(job, lockProvider)
      await second.close()
      expect(runs).toBe(1)
    })

    test('warnOfUnlockedCrons: does not warn', async () => {
      await start(jobOf({}, () => 'ran'))
      expect(warnings).toEqual([])
    })

    test('refuses at the start what cannot have slots', async () => {
      const starting = start(jobOf({ slot: false, untilSucceeded: true }, () => 'ran'))
      await expect(starting).rejects.toThrow('untilSucceeded of Job.run needs slots')
    })
  })
})
