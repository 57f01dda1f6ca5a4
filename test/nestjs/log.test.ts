import worker from 'node:worker_threads'
import { Cron, SchedulerRegistry } from '@nestjs/schedule'
import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutors } from '../../src/nestjs/locking-task-executors'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import type { ShedLockModuleOptions } from '../../src/nestjs/shed-lock-module-options'
import { ShedLockLifecycle } from '../../src/nestjs/shed-lock-lifecycle'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { loggedLines, startScheduler } from './application'
import { jobClass } from './job-class'
import { startVirtualTime } from '../core/virtual-time'

let lines: string[]
beforeEach(() => {
  lines = loggedLines()
})

const Job = jobClass(
  [Cron('0 0 1 1 *', { name: 'job' }), SchedulerLock({ name: 'job', lockAtMostFor: '1m' })],
  () => undefined,
)

const start = (options: Partial<ShedLockModuleOptions> = {}) => startScheduler(options, Job)

/** Runs the job, lets it be skipped, and lets the lock provider fail, each once and by the scheduler. */
async function runSkipAndFail(options?: Partial<ShedLockModuleOptions>): Promise<void> {
  const lockProvider = new InMemoryLockProvider()
  const application = await start({ lockProvider, ...options })
  lines.length = 0
  const job = application.get(SchedulerRegistry).getCronJob('job')
  let attempts = 0
  const acquire = jest.spyOn(lockProvider, 'acquire')
  const fire = async (): Promise<void> => {
    await job.fireOnTick()
    await eventually(() => expect(acquire).toHaveBeenCalledTimes(attempts + 1))
    attempts++
    await acquire.mock.results.at(-1)?.value
  }
  await fire()
  await eventually(() => expect(lockProvider.isLocked('job')).toBe(false))
  await lockProvider.lock({ name: 'job', lockAtMostFor: '1m' })
  attempts++
  await fire()
  acquire.mockImplementation(() => Promise.reject(new LockError('TIMEOUT', 'No answer.')))
  await fire().catch(() => undefined)
}

describe('The log of a Nest application', () => {
  test('has one line for each run, skip and failure', async () => {
    await runSkipAndFail()
    await eventually(() =>
      expect(lines).toEqual([
        "debug Lock 'job' ran its task, which succeeded after 0 ms",
        "debug Lock 'job' is already held – the task was skipped",
        // The line of @nestjs/schedule.
        'error LockError: No answer.',
      ]),
    )
  })

  test('names the module', async () => {
    await start()
    const named = lines.filter((line) => line.includes('ShedLock'))
    expect(named).toEqual(Array(3).fill('log ShedLockModule dependencies initialized'))
  })

  test('has none of these lines with listeners of the application', async () => {
    await runSkipAndFail({ listeners: [] })
    await eventually(() => expect(lines).toEqual(['error LockError: No answer.']))
  })
})

describe('The start says what stands in the way of a shutdown that waits for running jobs', () => {
  const warnings = (): string[] => lines.filter((line) => line.startsWith('warn'))

  beforeEach(() => {
    startVirtualTime({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
    const listeners = process.listeners('SIGTERM')
    process.removeAllListeners('SIGTERM')
    afterTest(() => {
      process.removeAllListeners('SIGTERM')
      for (const listener of listeners) process.on('SIGTERM', listener)
    })
  })

  test('no shutdown hooks', async () => {
    await start()
    jest.advanceTimersByTime(5_000)
    expect(warnings()).toEqual([
      expect.stringMatching(/^warn Nothing handles SIGTERM, .*app\.enableShutdownHooks\(\)/),
    ])
  })

  test('nothing, with shutdown hooks, or after the application was closed', async () => {
    ;(await start()).enableShutdownHooks()
    jest.advanceTimersByTime(5_000)
    await (await start()).close()
    process.removeAllListeners('SIGTERM')
    jest.advanceTimersByTime(5_000)
    expect(warnings()).toEqual([])
  })

  test('nothing in a worker, where no signal arrives', async () => {
    jest.replaceProperty(worker, 'isMainThread', false)
    await start()
    jest.advanceTimersByTime(5_000)
    expect(warnings()).toEqual([])
  })

  test('a loader that loads Nest twice', () => {
    const lifecycle = new ShedLockLifecycle(
      { lockProvider: new InMemoryLockProvider() },
      new LockingTaskExecutors(),
    )
    lifecycle.onModuleInit()
    expect(warnings()).toEqual([expect.stringMatching(/@nestjs\/core is loaded twice.*npm ls @nestjs\/core/)])
  })
})
