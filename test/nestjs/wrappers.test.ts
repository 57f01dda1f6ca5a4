import { Logger } from '@nestjs/common'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/internal'
import { SchedulerLock, ShedLockModule, type SchedulerLockOptions } from '../../src/nestjs'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { startApplication } from './application'
import { jobClassWith, type JobClass } from './job-class'
import { WRAPPERS } from './wrappers'

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
    const jobOf = (options: Partial<SchedulerLockOptions>, task: () => unknown): JobClass => {
      const decorators = {
        '@Cron': Cron('0 3 * * *', { timeZone: 'Europe/Berlin' }),
        '@SchedulerLock': SchedulerLock({ name: 'job', lockAtMostFor: '1m', ...options }) as MethodDecorator,
        wrapper: decorator,
      }
      return jobClassWith(kind)(
        parts.map((part) => decorators[part]),
        task,
      )
    }
    const start = async (job: JobClass, lockProvider = new InMemoryLockProvider()) => {
      const locks = { lockProvider, cronTime: CronTime, warnOfUnlockedCrons: true }
      const imports = [ScheduleModule.forRoot(), ShedLockModule.forRoot(locks)]
      return startApplication({ imports, providers: [job] })
    }

    test('runs once for each due time, again after a failure, and at the start what is due; it does not count as unlocked', async () => {
      let runs = 0
      const job = jobOf({ untilSucceeded: true, catchUp: '366d' }, () => {
        if (++runs === 1) throw new Error('boom')
        return 'ran'
      })
      const lockProvider = new InMemoryLockProvider()
      const one = await start(job, lockProvider)
      await eventually(() => expect(runs).toBe(1))
      expect([await one.get(job).run(), await one.get(job).run()]).toEqual(['ran', undefined])
      const two = await start(job, lockProvider)
      expect(await two.get(job).run()).toBeUndefined()
      await two.close()
      expect(runs).toBe(2)
      expect(warnings).toEqual([])
    })

    test('refuses at the start what cannot have slots', async () => {
      const starting = start(jobOf({ slot: false, untilSucceeded: true }, () => 'ran'))
      await expect(starting).rejects.toThrow('untilSucceeded of Job.run needs slots')
    })
  })
})
