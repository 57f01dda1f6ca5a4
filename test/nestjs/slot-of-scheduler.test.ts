import type { Provider } from '@nestjs/common'
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule'
import { CronJob, CronTime } from 'cron'
import { describe, expect, test } from '@jest/globals'
import { parseJob } from '../../src/core/jobs'
import { runNow } from '../../src/core/wrapped-task'
import { LockingTaskExecutors } from '../../src/nestjs/locking-task-executors'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { eventually } from '../eventually'
import { locks, startApplication } from './application'
import { jobClass } from './job-class'

const NEW_YEAR = '0 0 1 1 *'
const AUGUST = new CronTime('0 0 1 8 *', 'UTC')

class Jobs {
  @Cron(NEW_YEAR, { timeZone: 'UTC', name: 'named' })
  @SchedulerLock({ name: 'named', lockAtMostFor: '1m' })
  named(): string {
    return 'ran'
  }

  @Cron(NEW_YEAR, { timeZone: 'UTC' })
  @SchedulerLock({ name: 'nameless', lockAtMostFor: '1m' })
  nameless(): string {
    return 'ran'
  }
}

/** An application, and the months of the slots that it tried to acquire. */
async function start(job: Provider = Jobs, options = {}) {
  const tried: (string | undefined)[] = []
  const listeners = [
    {
      onLockAttempt({ configuration: { slot } }: { configuration: { slot?: Date | number | undefined } }) {
        tried.push(slot === undefined ? undefined : new Date(slot).toISOString().slice(5, 10))
      },
    },
  ]
  const imports = [ScheduleModule.forRoot(options), locks({ cronTime: CronTime, listeners })]
  return { application: await startApplication({ imports, providers: [job] }), tried }
}

describe('the slot is that of the scheduler', () => {
  test.each(['named', 'nameless'] as const)('after setTime: %s', async (method) => {
    const { application, tried } = await start()
    const cronJobs = application.get(SchedulerRegistry).getCronJobs()
    const { due } = parseJob(application.get(LockingTaskExecutors).jobs[method] ?? {}, method)
    expect(await Promise.resolve(application.get(Jobs)[method]())).toBe('ran')
    for (const job of cronJobs.values()) job.setTime(AUGUST)
    await Promise.resolve(application.get(Jobs)[method]())
    expect(tried).toEqual(['01-01', '08-01'])
    expect(due?.next(Date.UTC(2026, 2, 1))).toBe(Date.UTC(2026, 7, 1))
  })

  test('also if the job is started by hand, unless runNow starts it', async () => {
    const { application, tried } = await start()
    const job = application.get(SchedulerRegistry).getCronJob('named')
    for (let calls = 1; calls <= 2; calls++) {
      await job.fireOnTick()
      await eventually(() => expect(tried).toHaveLength(calls))
    }
    expect(await runNow(() => job.fireOnTick())).toEqual({ executed: true, value: 'ran' })
    expect(tried).toEqual(['01-01', '01-01', undefined])
  })

  test('after another job replaced the one of that name', async () => {
    const { application, tried } = await start()
    const registry = application.get(SchedulerRegistry)
    registry.deleteCronJob('named')
    const onTick = (): void => void application.get(Jobs).named()
    registry.addCronJob('named', CronJob.from({ cronTime: '0 0 1 8 *', timeZone: 'UTC', onTick }))
    await registry.getCronJob('named').fireOnTick()
    await eventually(() => expect(tried).toEqual(['08-01']))
  })
})

test.each([
  { disabled: false, cronJobs: true, slots: ['01-01'] },
  { disabled: true, cronJobs: true, slots: [] },
  { disabled: false, cronJobs: false, slots: [] },
])('catchUp runs only what the scheduler runs: %j', async ({ disabled, cronJobs, slots }) => {
  const locked = SchedulerLock({ name: 'job', lockAtMostFor: '1m', catchUp: '366d' })
  const decorators = [Cron(NEW_YEAR, { timeZone: 'UTC', disabled }), locked]
  const { application, tried } = await start(
    jobClass(decorators, () => 'ran'),
    { cronJobs },
  )
  await application.close()
  expect(tried).toEqual(slots)
})

describe('a call without the slot that was asked for is refused', () => {
  class WithSlot {
    @SchedulerLock({ name: 'job', lockAtMostFor: '1m', slot: (due?: Date) => due ?? (undefined as never) })
    run(due?: Date): string {
      return due ? 'ran' : 'without a slot'
    }
  }

  test('if a function returns none', async () => {
    const { application, tried } = await start(WithSlot)
    const job = application.get(WithSlot)
    await expect(Promise.resolve(job.run())).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
    expect(await Promise.resolve(job.run(new Date(Date.UTC(2026, 7, 1))))).toBe('ran')
    expect(tried).toEqual(['08-01'])
  })

  test('if a method that overrides a locked one has lost its @Cron', async () => {
    const locked = SchedulerLock({ name: 'job', lockAtMostFor: '1m', untilSucceeded: true })
    const Base = jobClass([Cron(NEW_YEAR), locked], () => 'ran')
    class Heir extends Base {
      override run(): unknown {
        return super.run()
      }
    }
    const { application, tried } = await start(Heir)
    await expect(Promise.resolve(application.get(Heir).run())).rejects.toThrow('untilSucceeded')
    expect(tried).toEqual([])
  })
})
