import { Module } from '@nestjs/common'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { describe, expect, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { activeLock } from '../../src/core/scope'
import type { SchedulerLockOptions } from '../../src/nestjs/scheduler-lock-options'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { ShedLockModule } from '../../src/nestjs/shed-lock.module'
import { loggedLines, startApplication, startWith } from './application'
import { jobClass, type JobClass } from './job-class'

@Module({})
class FirstModule {}

@Module({})
class SecondModule {}

const NIGHTLY = Cron('0 3 * * *')
const locked = (options: Partial<SchedulerLockOptions> = {}) =>
  SchedulerLock({ name: 'job', lockAtMostFor: '1m', ...options })

const start = (...providers: JobClass[]) =>
  startWith(
    { lockProvider: new InMemoryLockProvider(), lockProviders: { audit: new InMemoryLockProvider() } },
    ...providers,
  )

describe('Two jobs with one lock and one schedule', () => {
  const job = (decorators: MethodDecorator[], Base?: JobClass): JobClass =>
    jobClass(decorators, () => activeLock()?.name, Base)
  const heirs = (options?: Partial<SchedulerLockOptions>, schedule = NIGHTLY): [JobClass, JobClass] => {
    const Base = job([schedule, locked(options)])
    return [class One extends Base {}, class Two extends Base {}]
  }

  test('are refused at the start, because one of them would be skipped', async () => {
    const refused = { code: 'INVALID_CONFIGURATION', lockName: 'job' }
    await expect(start(...heirs())).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('One.run and Two.run are due at the same times and share lock'),
    })
    await expect(start(job([NIGHTLY, locked()]), job([NIGHTLY, locked()]))).rejects.toMatchObject(refused)
  })

  test.each<[string, () => JobClass[]]>([
    [
      'the name is computed',
      () =>
        heirs({
          name: function (this: object) {
            return this.constructor.name
          } as never,
        }),
    ],
    ['the second one waits', () => heirs({ wait: '1h' })],
    ['they are due at different times', () => [job([NIGHTLY, locked()]), job([Cron('0 4 * * *'), locked()])]],
    [
      'they have different lock providers',
      () => [job([NIGHTLY, locked()]), job([NIGHTLY, locked({ provider: 'audit' })])],
    ],
    ['neither is scheduled', () => [job([locked()]), job([locked()])]],
    ['it is disabled', () => heirs({}, Cron('0 3 * * *', { disabled: true }))],
  ])('are allowed if %s', async (_, jobs) => {
    await start(...jobs())
  })

  test('are allowed if it is one class, provided by two modules', async () => {
    const Job = job([NIGHTLY, locked()])
    const modules = [FirstModule, SecondModule].map((module) => ({ module, providers: [Job] }))
    const locks = ShedLockModule.forRoot({ lockProvider: new InMemoryLockProvider() })
    await startApplication({ imports: [locks, ...modules] })
  })
})

class Reports {
  ran = 0

  @SchedulerLock({ name: 'report', lockAtMostFor: '1m' })
  async send(): Promise<number> {
    return Promise.resolve(++this.ran)
  }
}

describe('A job in an object that Nest did not create', () => {
  const options = () => ({ lockProvider: new InMemoryLockProvider() })

  test('runs and is checked if a factory returns it in a Proxy', async () => {
    const proxy = new Proxy(new Reports(), {})
    await startWith(options(), { provide: Reports, useValue: proxy })
    expect(await proxy.send()).toBe(1)
    const Wrong = jobClass([locked({ lockAtMostFor: undefined })], () => 'ran')
    await expect(
      startWith(options(), { provide: Wrong, useFactory: () => new Proxy(new Wrong(), {}) }),
    ).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
  })

  test('does not keep the application from starting if its Proxy has no target yet', async () => {
    const refuse = (): never => {
      throw new Error('no target')
    }
    const proxy = new Proxy({}, { has: refuse })
    await startWith(options(), { provide: 'PROXY', useValue: proxy })
  })

  test('runs in onModuleInit of a global module', async () => {
    const reports = new Reports()
    const early = { onModuleInit: () => reports.send() }
    await startApplication({
      imports: [
        {
          module: FirstModule,
          global: true,
          providers: [
            { provide: 'EARLY', useValue: early },
            { provide: Reports, useValue: reports },
          ],
        },
        ShedLockModule.forRoot(options()),
      ],
    })
    expect(reports.ran).toBe(1)
  })

  test('is refused at the start of a second application, whose locks would not be used, until the first one is closed', async () => {
    const provider = { provide: Reports, useValue: new Reports() }
    const first = await startWith(options(), provider)
    await expect(startWith(options(), provider)).rejects.toMatchObject({
      code: 'INVALID_CONFIGURATION',
      message: expect.stringContaining('The same object of Reports is in two Nest applications'),
    })
    await first.close()
    expect(await (await startWith(options(), provider)).get(Reports).send()).toBe(1)
  })
})

test('catchUp does nothing without a scheduler, and the start says so', async () => {
  const logged = loggedLines()
  const warnings = (): string[] => logged.filter((line) => line.startsWith('warn'))
  let ran = 0
  const Job = jobClass([NIGHTLY, locked({ catchUp: '25h' })], () => ran++)
  const locks = ShedLockModule.forRoot({ lockProvider: new InMemoryLockProvider(), cronTime: CronTime })
  await (await startApplication({ imports: [locks], providers: [Job] })).close()
  expect([ran, warnings()]).toEqual([
    0,
    [expect.stringMatching(/^warn catchUp of Job.run does nothing.*import ScheduleModule.forRoot\(\)/)],
  ])
  await (await startApplication({ imports: [ScheduleModule.forRoot(), locks], providers: [Job] })).close()
  expect([ran, warnings().length]).toEqual([1, 1])
})
