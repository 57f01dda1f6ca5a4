import { createRequire } from 'node:module'
import { describe, expect, test } from '@jest/globals'
import { Cron } from 'croner'
import { slotOf, type CronTimeLike } from '../../../src/core/cron'
import { InMemoryLockProvider } from '../../../src/core/in-memory-lock-provider'
import type { LockEvent } from '../../../src/core/listener'
import { LockingTaskExecutor } from '../../../src/core/locking-task-executor'
import { runNow, type WrapConfiguration } from '../../../src/core/wrapped-task'
import { afterTest } from '../../after-test'
import { eventually } from '../../eventually'
import { promiseWithResolvers } from '../../promise-with-resolvers'

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
/** Loads a module. Those of this folder may not be installed when types are checked, so each is described by what is used of it. */
const load = createRequire(__filename) as (name: string) => unknown

function scheduleWithNodeSchedule(job: Job): Scheduled {
  interface NodeSchedule {
    scheduleJob(rule: string, job: Job): { invoke(): unknown; cancel(): unknown }
  }
  const scheduled = (load('node-schedule') as NodeSchedule).scheduleJob(EACH_SECOND, job)
  return { callByHand: () => scheduled.invoke(), stop: () => scheduled.cancel() }
}

const scheduleWithCron = (version: string) => (job: Job) => {
  interface Package {
    CronJob: new (
      time: string,
      onTick: (this: unknown) => unknown,
      onComplete: null,
      start: boolean,
    ) => { fireOnTick(): unknown; stop(): unknown }
  }
  const { CronJob } = load(version) as Package
  const onTick = function (this: unknown) {
    return job.call(this, this)
  }
  const scheduled = new CronJob(EACH_SECOND, onTick, null, true)
  return { callByHand: () => scheduled.fireOnTick(), stop: () => scheduled.stop() }
}

const scheduleWithCroner = (version: string) => (job: Job) => {
  interface Package {
    Cron: new (pattern: string, job: Job) => { trigger(): unknown; stop(): unknown }
  }
  const scheduled = new (load(version) as Package).Cron(EACH_SECOND, job)
  return { callByHand: () => scheduled.trigger(), stop: () => scheduled.stop() }
}

function scheduleWithNodeCron3(job: Job): Scheduled {
  interface NodeCron {
    readonly schedule: (expression: string, job: Job, options: object) => { now(): unknown; stop(): unknown }
  }
  const { schedule } = load('node-cron-3') as NodeCron
  const scheduled = schedule(EACH_SECOND, job, { recoverMissedExecutions: true })
  return { callByHand: () => scheduled.now(), stop: () => scheduled.stop() }
}

function scheduleWithNodeCron4(job: Job): Scheduled {
  interface NodeCron {
    schedule(
      expression: string,
      job: Job,
    ): { on(event: string, listener: Job): unknown; execute(): unknown; destroy(): unknown }
  }
  const scheduled = (load('node-cron') as NodeCron).schedule(EACH_SECOND, job)
  scheduled.on('execution:missed', job)
  return { callByHand: () => scheduled.execute(), stop: () => scheduled.destroy() }
}

function scheduleWithToadScheduler(job: Job): Scheduled {
  interface Package {
    AsyncTask: new (name: string, job: Job) => { execute(): unknown }
    CronJob: new (schedule: object, task: object) => object
    ToadScheduler: new () => { addCronJob(job: object): void; stop(): unknown }
  }
  const { AsyncTask, CronJob, ToadScheduler } = load('toad-scheduler') as Package
  const [task, scheduler] = [new AsyncTask('report', job), new ToadScheduler()]
  scheduler.addCronJob(new CronJob({ cronExpression: EACH_SECOND }, task))
  return { callByHand: () => task.execute(), stop: () => scheduler.stop() }
}

const ofCroner = (job: Cron): Date => slotOf(job)
const ofCron = (job: { readonly cronTime: CronTimeLike }): Date => slotOf(job.cronTime)
const ofAnotherCron = (): Date => slotOf(new Cron(EACH_SECOND, { paused: true }))

const SCHEDULERS: readonly Scheduler[] = [
  {
    ...{ name: 'node-schedule', schedule: scheduleWithNodeSchedule, slot: (due: Date) => due },
    ...{ refusesCallsByHand: true, runsMissed: true },
  },
  ...['cron', 'cron-3', 'cron-2'].map((name) => ({
    ...{ name, schedule: scheduleWithCron(name), slot: ofCron, isOld: name !== 'cron' },
  })),
  ...['croner-11', 'croner', 'croner-9', 'croner-8', 'croner-7', 'croner-6'].map((name) => ({
    ...{ name, schedule: scheduleWithCroner(name), slot: ofCroner, isOld: name !== 'croner-11' },
  })),
  {
    ...{ name: 'node-cron', schedule: scheduleWithNodeCron4, slot: slotOf },
    ...{ refusesCallsByHand: true, runsMissed: true },
  },
  {
    name: 'node-cron-3',
    schedule: scheduleWithNodeCron3,
    slot: (now: Date) => Math.floor(Number(now) / 1_000) * 1_000,
    ...{ refusesCallsByHand: true, runsMissed: true },
  },
  { name: 'toad-scheduler', schedule: scheduleWithToadScheduler, slot: ofAnotherCron },
]

/** Two instances of an app, whose locks are in one storage. */
function startTwice({ schedule, slot }: Scheduler, task: () => unknown = () => 'ran') {
  const storage = new InMemoryLockProvider()
  /** The slots that ran, of both; NaN for a run without one. */
  const ran: number[] = []
  const instance = () => {
    const [errors, fires]: [unknown[], LockEvent[]] = [[], []]
    const listeners = [
      {
        onLockAttempt: (event: LockEvent) => void fires.push(event),
        onTaskStarted: ({ configuration }: LockEvent) => void ran.push(configuration.slot ?? NaN),
      },
    ]
    const executor = new LockingTaskExecutor(storage, { listeners })
    const job = executor.wrap(
      {
        name: 'report',
        lockAtMostFor: '1m',
        slot: slot,
        onError: (error) => errors.push(error),
      },
      task,
    )
    const scheduled = schedule(job)
    afterTest(() => scheduled.stop())
    return { executor, errors, fires, scheduled }
  }
  return { instances: [instance(), instance()] as const, ran }
}

const LONG = { timeout: 60_000, interval: 20 }
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

describe.each(SCHEDULERS)('$name', (scheduler) => {
  test('a due time runs on one of two instances', async () => {
    const { ran, instances } = startTwice(scheduler)
    await untilRuns(ran, 3)
    expectDueTimesOnce(ran)
    expect(instances.flatMap(({ errors }) => errors)).toEqual([])
  })

  test("the scheduler's own call by hand has the last due time, or is refused; runNow runs it without one", async () => {
    const { ran, instances } = startTwice(scheduler)
    await untilRuns(ran, 1)
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

  test('stops without waiting for a run, and a shutdown returns what was late', async () => {
    const end = promiseWithResolvers<string>()
    afterTest(() => {
      end.resolve('ended')
    })
    const { ran, instances } = startTwice(scheduler, () => end.promise)
    await untilRuns(ran, 1)
    for (const { scheduled } of instances) await scheduled.stop()
    const late = await Promise.all(
      instances.map(({ executor }) => executor.shutdown({ timeout: 100, abortAfter: 0 })),
    )
    expect(late.flat()).toEqual(['report'])
    const fires = instances.flatMap(({ fires }) => fires.length)
    const other = startTwice(scheduler)
    await untilRuns(other.ran, 2)
    expect(instances.flatMap(({ fires }) => fires.length)).toEqual(fires)
  })
})
