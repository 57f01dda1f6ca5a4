import { createRequire } from 'node:module'
import { describe, expect, test } from '@jest/globals'
import { Cron } from 'croner'
import type { SchedulerName } from '../../../src/cli/init/usage'
import { slotOf, type CronTimeLike } from '../../../src/core/cron'
import { InMemoryLockProvider } from '../../../src/core/in-memory-lock-provider'
import type { LockEvent } from '../../../src/core/listener'
import { LockingTaskExecutor } from '../../../src/core/locking-task-executor'
import { runNow, type WrapConfiguration } from '../../../src/core/wrapped-task'
import { afterTest } from '../../after-test'
import { eventually } from '../../eventually'

type Job = (this: unknown, ...args: unknown[]) => Promise<void>

/** A job that one instance has scheduled. */
interface Scheduled {
  /** The scheduler's own way to start the job by hand. */
  readonly callByHand: () => unknown
  /** Stops the scheduler, and does not wait for a run. */
  readonly stop: () => unknown
}

/** A row of the table "Who else may call" in docs/schedulers.md. */
interface Scheduler {
  readonly name: string
  readonly slot: NonNullable<WrapConfiguration['slot']>
  /** Schedules the job for each second. */
  readonly schedule: (job: Job) => Scheduled
  /** Whether a call by hand is refused, because the scheduler passes no due time. Others have the last due time. */
  readonly refusesCallsByHand?: boolean
  /** Whether the slots that are due while the process does not answer are run afterwards. */
  readonly runsMissed?: boolean
  /** Whether another version has all of the tests. */
  readonly isOld?: boolean
}

const EACH_SECOND = '* * * * * *'

type Call = () => unknown
/** What is used of the schedulers. Those of this folder may not be installed when types are checked. */
interface Modules {
  readonly 'node-schedule': { scheduleJob(rule: string, job: Job): { invoke: Call; cancel: Call } }
  readonly cron: {
    CronJob: new (
      time: string,
      onTick: Job,
      onComplete: null,
      start: boolean,
    ) => { fireOnTick: Call; stop: Call }
  }
  readonly croner: { Cron: new (pattern: string, job: Job) => { trigger: Call; stop: Call } }
  readonly 'node-cron': {
    schedule(
      expression: string,
      job: Job,
      options?: object,
    ): { on(event: string, job: Job): void; now: Call; execute: Call; stop: Call; destroy: Call }
  }
  readonly 'toad-scheduler': {
    AsyncTask: new (name: string, job: Job) => { execute: Call }
    CronJob: new (schedule: object, task: object) => object
    ToadScheduler: new () => { addCronJob(job: object): void; stop: Call }
  }
}
/** Loads one of them, in this version. */
function load<Name extends keyof Modules>(name: Name, version = ''): Modules[Name] {
  return createRequire(__filename)(name + version) as Modules[Name]
}

function scheduleWithNodeSchedule(job: Job): Scheduled {
  const scheduled = load('node-schedule').scheduleJob(EACH_SECOND, job)
  return { callByHand: () => scheduled.invoke(), stop: () => scheduled.cancel() }
}

const scheduleWithCron = (version: string) => (job: Job) => {
  const onTick: Job = function (this: unknown) {
    return job.call(this, this)
  }
  const scheduled = new (load('cron', version).CronJob)(EACH_SECOND, onTick, null, true)
  return { callByHand: () => scheduled.fireOnTick(), stop: () => scheduled.stop() }
}

const scheduleWithCroner = (version: string) => (job: Job) => {
  const scheduled = new (load('croner', version).Cron)(EACH_SECOND, job)
  return { callByHand: () => scheduled.trigger(), stop: () => scheduled.stop() }
}

function scheduleWithNodeCron3(job: Job): Scheduled {
  const scheduled = load('node-cron', '-3').schedule(EACH_SECOND, job, { recoverMissedExecutions: true })
  return { callByHand: () => scheduled.now(), stop: () => scheduled.stop() }
}

function scheduleWithNodeCron4(job: Job): Scheduled {
  const scheduled = load('node-cron').schedule(EACH_SECOND, job)
  scheduled.on('execution:missed', job)
  return { callByHand: () => scheduled.execute(), stop: () => scheduled.destroy() }
}

function scheduleWithToadScheduler(job: Job): Scheduled {
  const { AsyncTask, CronJob, ToadScheduler } = load('toad-scheduler')
  const [task, scheduler] = [new AsyncTask('report', job), new ToadScheduler()]
  scheduler.addCronJob(new CronJob({ cronExpression: EACH_SECOND }, task))
  return { callByHand: () => task.execute(), stop: () => scheduler.stop() }
}

const ofCroner = (job: Cron): Date => slotOf(job)
const ofCron = (job: { readonly cronTime: CronTimeLike }): Date => slotOf(job.cronTime)
const ofAnotherCron = (): Date => slotOf(new Cron(EACH_SECOND, { paused: true }))

/** Each in the versions that differ. Those of Bree and NestJS are called in `schedulers.test.ts` and test/nestjs. */
const SCHEDULERS: Readonly<
  Record<Exclude<SchedulerName, 'bree' | '@nestjs/schedule'>, readonly Scheduler[]>
> = {
  'node-schedule': [
    {
      ...{ name: 'node-schedule', schedule: scheduleWithNodeSchedule, slot: (due: Date) => due },
      ...{ refusesCallsByHand: true, runsMissed: true },
    },
  ],
  cron: ['', '-3', '-2'].map((version) => ({
    ...{ name: `cron${version}`, schedule: scheduleWithCron(version), slot: ofCron, isOld: version !== '' },
  })),
  croner: ['-11', '', '-9', '-8', '-7', '-6'].map((version) => ({
    ...{ name: `croner${version}`, schedule: scheduleWithCroner(version) },
    ...{ slot: ofCroner, isOld: version !== '-11' },
  })),
  'node-cron': [
    {
      ...{ name: 'node-cron', schedule: scheduleWithNodeCron4, slot: slotOf },
      ...{ refusesCallsByHand: true, runsMissed: true },
    },
    {
      name: 'node-cron-3',
      schedule: scheduleWithNodeCron3,
      slot: slotOf,
      ...{ refusesCallsByHand: true, runsMissed: true },
    },
  ],
  'toad-scheduler': [{ name: 'toad-scheduler', schedule: scheduleWithToadScheduler, slot: ofAnotherCron }],
}

/** Two instances of an app, whose locks are in one storage. */
function startTwice({ schedule, slot }: Scheduler) {
  const storage = new InMemoryLockProvider()
  /** The slots that ran, of both; NaN for a run without one. */
  const ran: number[] = []
  const instance = () => {
    const errors: unknown[] = []
    const onTaskStarted = ({ configuration }: LockEvent) => void ran.push(configuration.slot ?? NaN)
    const executor = new LockingTaskExecutor(storage, { listeners: [{ onTaskStarted }] })
    const job = executor.wrap(
      { name: 'report', lockAtMostFor: '1m', slot, onError: (error) => errors.push(error) },
      () => 'ran',
    )
    const scheduled = schedule(job)
    afterTest(() => scheduled.stop())
    return { errors, scheduled }
  }
  return { instances: [instance(), instance()] as const, ran }
}

const LONG = { timeout: 180_000, interval: 20 }
const untilRuns = (ran: readonly number[], count: number): Promise<void> =>
  eventually(() => expect(ran.length).toBeGreaterThanOrEqual(count), LONG)

/** Each slot once, and all of them due times, which are whole seconds. */
function expectDueTimesOnce(slots: readonly number[]): void {
  expect(slots).toEqual([...new Set(slots)])
  expect(slots.filter((slot) => slot % 1_000 !== 0)).toEqual([])
}

/** The process does not answer, as in a long calculation. */
function block(milliseconds: number): void {
  for (const until = Date.now() + milliseconds; Date.now() < until;);
}

describe.each(Object.values(SCHEDULERS).flat())('$name', (scheduler) => {
  test('a due time runs once; a call by hand has the last one, or is refused; runNow runs it without one', async () => {
    const { ran, instances } = startTwice(scheduler)
    await untilRuns(ran, 3)
    expect(instances.flatMap(({ errors }) => errors)).toEqual([])
    for (const { scheduled } of instances) await scheduled.callByHand()
    const message = expect.stringMatching(/due time.*runNow/)
    const refused = expect.objectContaining({ code: 'INVALID_CONFIGURATION', message })
    for (const { errors } of instances) expect(errors).toEqual(scheduler.refusesCallsByHand ? [refused] : [])
    expectDueTimesOnce(ran)

    const before = ran.length
    expect(await runNow(() => instances[0].scheduled.callByHand())).toEqual({ executed: true, value: 'ran' })
    expect(ran.slice(before)).toContainEqual(NaN)
    await untilRuns(ran, before + 3)
    expectDueTimesOnce(ran.filter((slot) => !Number.isNaN(slot)))
  })

  if (scheduler.isOld) return

  test(`due times that were missed ${scheduler.runsMissed ? 'run afterwards, once' : 'never run twice'}`, async () => {
    const { ran, instances } = startTwice(scheduler)
    await untilRuns(ran, 2)
    const before = ran.length
    block(2_500)
    await untilRuns(ran, before + 3)
    expectDueTimesOnce(ran)
    expect(instances.flatMap(({ errors }) => errors)).toEqual([])
    if (!scheduler.runsMissed) return
    const sorted = [...ran].sort((a, b) => a - b)
    expect(sorted).toEqual(sorted.map((_, index) => (sorted[0] ?? NaN) + index * 1_000))
  })
})
