import { describe, expect, it, jest } from '@jest/globals'
import type { TaskConfiguration } from '../../src/core/configuration'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { activeLock } from '../../src/core/scope'
import { SchedulerLock, SchedulerLockDefaults } from '../../src/nestjs/scheduler-lock.decorator'
import { prismaLockProvider, shedlock, type ShedLockClient } from '../../src/prisma/prisma-lock-provider'
import {
  SQL_LOCK_PROVIDER_OPTIONS,
  type SqlLockProvider,
  type SqlLockProviderOptions,
} from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { openMemory } from '../backends/open-database'
import { FaultyLockProvider } from '../core/faulty-lock-provider'
import { startWith } from '../nestjs/application'
import { jobClass } from '../nestjs/job-class'
import { prisma } from './prisma-client'
import { startVirtualTime } from '../core/virtual-time'

// The compiler compares the options that an entry point knows with its type, and refusals.test.ts shows that it refuses all others.
// These tests show that it passes on the options that it knows.

const SLOT = Date.UTC(2026, 10, 21, 3)
/** Options may be inherited, as from an object of a class. */
const inherited = (options: object) => Object.create(options) as never

type InOtherTests = 'name' | 'slot' | 'wait' | 'onSkip'
type Task = () => unknown
type EntryPoint = (
  options: Omit<TaskConfiguration, 'name'>,
  task: Task,
  locks: FaultyLockProvider,
) => Promise<unknown>

function jobWith(own: object, task: Task) {
  return jobClass([SchedulerLock(inherited(own))], task)
}

async function start(job: ReturnType<typeof jobWith>, lockProvider: FaultyLockProvider): Promise<unknown> {
  return (await startWith({ lockProvider }, job)).get(job).run()
}

const own = { name: 'job', slot: () => SLOT }
const entryPoints: Readonly<Record<string, EntryPoint>> = {
  executeWithLock: (options, task, locks) =>
    new LockingTaskExecutor(locks).executeWithLock(inherited({ ...options, name: 'job', slot: SLOT }), task),
  wrap: (options, task, locks) =>
    new LockingTaskExecutor(locks).wrap(inherited({ ...options, ...own }), task)(),
  '@SchedulerLock': (options, task, locks) => start(jobWith({ ...options, ...own }, task), locks),
  '@SchedulerLockDefaults': (options, task, locks) => {
    const job = jobWith(own, task)
    SchedulerLockDefaults(inherited(options))(job)
    return start(job, locks)
  },
}

describe.each(Object.entries(entryPoints))('%s', (_, run) => {
  it('passes on the options of a lock', async () => {
    const storage = new InMemoryLockProvider()
    const locks = new FaultyLockProvider(storage)
    const acquire = jest.spyOn(storage, 'acquire')
    const controller = new AbortController()
    const { signal } = controller
    startVirtualTime({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
    const task = async (): Promise<void> => {
      await jest.advanceTimersByTimeAsync(60_000)
      expect(locks.calls).toContain('extend')
      controller.abort('stop')
      expect(activeLock()?.signal.reason).toBe('stop')
    }
    const lock = { lockAtMostFor: '1m', lockAtLeastFor: '10s', untilSucceeded: true, keepAlive: true, signal }
    // Without a new option, here or in the test below, this does not compile.
    await run(lock satisfies Record<Exclude<keyof TaskConfiguration, InOtherTests>, unknown>, task, locks)
    expect(acquire.mock.calls).toEqual([
      [{ name: 'job', slot: SLOT, untilSucceeded: true, lockAtMostFor: 60_000, lockAtLeastFor: 10_000 }],
    ])
    expect(signal.aborted).toBe(true)
  })

  it('passes on how to wait, and what to call when the task is skipped', async () => {
    const storage = new InMemoryLockProvider()
    await storage.lock({ name: 'job', lockAtMostFor: '1h' })
    const locks = new FaultyLockProvider(storage)
    const [task, onSkip] = [jest.fn(), jest.fn()]
    startVirtualTime({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
    const call = { isOver: false }
    const over = run({ lockAtMostFor: '1m', wait: { atMost: '3s', interval: '1s' }, onSkip }, task, locks)
    void over.finally(() => (call.isOver = true))
    // An application starts before the call waits, so it is not known how often time has to pass.
    while (!call.isOver) await jest.advanceTimersByTimeAsync(1_000)
    await over
    expect(onSkip).toHaveBeenCalledWith(expect.objectContaining({ reason: 'held' }))
    expect(locks.calls.length).toBeGreaterThan(1)
    expect(task).not.toHaveBeenCalled()
  })
})

it.each<[string, (options: never) => SqlLockProvider | Promise<SqlLockProvider>]>([
  ['typeOrmLockProvider', async (options) => typeOrmLockProvider(await openMemory(), options)],
  ['prismaLockProvider', (options) => prismaLockProvider(prisma, options)],
  [
    'shedlock',
    (options) => (shedlock(options)(prisma) as unknown as { client: ShedLockClient }).client.$lockProvider,
  ],
])('%s passes on the options of a provider', async (_, create) => {
  // Entry points have copies of these parsers, so only the provider itself calls them.
  const parsers = Object.keys(SQL_LOCK_PROVIDER_OPTIONS).map(
    (option) =>
      [option, jest.spyOn(SQL_LOCK_PROVIDER_OPTIONS, option as keyof SqlLockProviderOptions)] as const,
  )
  const table = { schema: 'app', tableName: 'locks', columnNames: { name: 'lock' } }
  const others = { lockedBy: 'me', timeLimit: '1s', ownConnections: 1, recordMessages: true }
  // Without a new option, this does not compile.
  const options = { ...table, ...others } satisfies Record<keyof SqlLockProviderOptions, unknown>
  const { description } = await create(inherited({ ...options, dialect: 'mysql' }))
  expect(description).toMatch(/^the table app.locks \(mysql/)
  expect(parsers.flatMap(([option, { mock }]) => (mock.calls.length > 0 ? [] : option))).toEqual([])
})
