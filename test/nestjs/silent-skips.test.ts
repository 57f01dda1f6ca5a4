import { Module } from '@nestjs/common'
import { Cron, Timeout } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { describe, expect, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { activeLock } from '../../src/core/scope'
import type { SchedulerLockOptions } from '../../src/nestjs/scheduler-lock-options'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { lockError } from '../lock-error'
import { locks, loggedLines, startApplication, startScheduler, startWith } from './application'
import { jobClass, type JobClass } from './job-class'

@Module({})
class FirstModule {}

@Module({})
class SecondModule {}

const NIGHTLY = Cron('0 3 * * *')
const locked = (options: Partial<SchedulerLockOptions> = {}) =>
  SchedulerLock({ name: 'job', lockAtMostFor: '1m', ...options })

const start = (...providers: JobClass[]) =>
  startWith({ lockProviders: { audit: new InMemoryLockProvider() } }, ...providers)

describe('Two jobs with one lock and one schedule', () => {
  const job = (decorators: MethodDecorator[], Base?: JobClass): JobClass =>
    jobClass(decorators, () => activeLock()?.name, Base)
  const heirs = (options?: Partial<SchedulerLockOptions>, schedule = NIGHTLY): [JobClass, JobClass] => {
    const Base = job([schedule, locked(options)])
    return [class One extends Base {}, class Two extends Base {}]
  }

  test('are refused at the start, because one of them would be skipped', async () => {
    const refused = 'One.run and Two.run are due at the same times and share lock'
    await expect(start(...heirs())).rejects.toEqual(lockError('INVALID_CONFIGURATION', refused))
  })

  test.each<[string, MethodDecorator, MethodDecorator, object]>([
    ['with names of their own', NIGHTLY, Cron('0 3 * * *', { name: 'two' }), {}],
    ['with @Timeout', Timeout(1_000_000), Timeout(1_000_000), {}],
    ['that wait for each other, but have one slot', NIGHTLY, NIGHTLY, { wait: '1h', slot: () => 1 }],
  ])('are refused at the start %s', async (_, one, two, options) => {
    await expect(start(...[one, two].map((each) => job([each, locked(options)])))).rejects.toMatchObject({
      ...{ code: 'INVALID_CONFIGURATION', lockName: 'job' },
    })
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
    await startApplication({ imports: [locks(), ...modules] })
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
  test('runs and is checked if a factory returns it in a Proxy', async () => {
    const proxy = new Proxy(new Reports(), {})
    await startWith({}, { provide: Reports, useValue: proxy })
    expect(await proxy.send()).toBe(1)
    const Wrong = jobClass([locked({ lockAtMostFor: undefined })], () => 'ran')
    await expect(
      startWith({}, { provide: Wrong, useFactory: () => new Proxy(new Wrong(), {}) }),
    ).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
  })

  test('does not keep the application from starting if its Proxy has no target yet, nor if it is frozen', async () => {
    const refuse = (): never => {
      throw new Error('no target')
    }
    const proxy = new Proxy({}, { has: refuse })
    const frozen = { provide: 'FROZEN', useValue: Object.freeze({}) }
    await startWith({}, { provide: 'PROXY', useValue: proxy }, frozen)
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
        locks(),
      ],
    })
    expect(reports.ran).toBe(1)
  })

  test('is refused at the start of a second application, whose locks would not be used, until the first one is closed', async () => {
    const provider = { provide: Reports, useValue: new Reports() }
    const first = await startWith({}, provider)
    await expect(startWith({}, provider)).rejects.toEqual(
      lockError('INVALID_CONFIGURATION', 'The same object of Reports is in two Nest applications'),
    )
    await first.close()
    expect(await (await startWith({}, provider)).get(Reports).send()).toBe(1)
  })
})

test('catchUp does nothing without a scheduler, and the start says so', async () => {
  const logged = loggedLines()
  const warnings = (): string[] => logged.filter((line) => line.startsWith('warn'))
  let ran = 0
  const Job = jobClass([NIGHTLY, locked({ catchUp: '25h' })], () => ran++)
  const Slotted = jobClass([locked({ name: 'slotted', catchUp: '25h', slot: () => 1 })], () => ran++)
  await (await startWith({ cronTime: CronTime }, Job, Slotted)).close()
  expect([ran, warnings()]).toEqual([
    0,
    [expect.stringMatching(/^warn catchUp of Job.run does nothing.*import ScheduleModule.forRoot\(\)/)],
  ])
  await (await startScheduler({ cronTime: CronTime }, Job)).close()
  expect([ran, warnings().length]).toEqual([1, 1])
})
