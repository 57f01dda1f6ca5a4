import assert from 'node:assert/strict'
import { beforeAll, expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider, type Lock, type LockError } from '../../src/core/internal'
import type { LockRecord, SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterFile } from '../after-test'
import { describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { runCli } from '../cli/built-cli'
import { eventually } from '../eventually'
import { prismaBackends } from '../prisma/clients'
import { promiseWithResolvers } from '../promise-with-resolvers'
import {
  CALLS,
  entryPoints,
  flagOf,
  type EntryPointName,
  type Option,
  type Options,
  type Run,
  type Surroundings,
} from './entry-points'
import { providerOf } from '../core/provider-of'

/**
 * Each option of a task, in each entry point: whether it has its effect there, or is refused at the start.
 *
 * A: executor.executeWithLock   B: executor.wrap   C, D: @SchedulerLock with legacy and with standard decorators
 * E: @SchedulerLockDefaults   F, G: Prisma's $executeWithLock and $wrapWithLock   H: executeOnce   I: leaderElection
 * J: node-cron with shedLockCoordinator   K: shedlock-orm exec
 */
const TABLE = `
  option                      | A       B       C       D       E       F       G       H       I       J       K
  name                        | works   works   works   works   refused works   works   works   works   works   works
  name, from arguments        | refused works   works   works   refused refused works   refused refused refused refused
  lockAtMostFor               | works   works   works   works   works   works   works   works   works   works   works
  lockAtMostFor, a function   | refused refused works   works   works   refused refused refused refused refused refused
  lockAtLeastFor              | works   works   works   works   works   works   works   works   refused refused works
  lockAtLeastFor, a function  | refused refused works   works   works   refused refused refused refused refused refused
  slot                        | works   works   works   works   refused works   works   works   refused works   works
  slot, false                 | refused refused works   works   refused refused refused refused refused refused refused
  untilSucceeded              | works   works   works   works   works   works   works   refused refused refused refused
  keepAlive                   | works   works   works   works   works   works   works   works   refused refused works
  keepAlive, with a limit     | works   works   works   works   works   works   works   works   refused refused works
  onSkip, 'throw'      | works   works   works   works   works   works   works   refused refused refused refused
  onSkip, a function   | works   works   works   works   works   works   works   refused refused refused refused
  onError                     | refused works   refused refused refused refused works   refused refused refused refused
  catchUp                     | refused refused works   works   refused refused refused refused refused refused refused
  provider                    | refused refused works   works   works   refused refused refused refused refused refused
  wait                        | works   works   works   works   works   works   works   works   refused refused works
  wait, not for long enough   | works   works   works   works   works   works   works   works   refused refused works
  signal                      | works   works   works   works   works   works   works   works   refused refused refused
  listeners                   | refused refused refused refused refused refused refused works   works   works   refused
  interval                    | refused refused refused refused refused refused refused refused works   refused refused
`
const COLUMNS: Readonly<Record<EntryPointName, string>> = {
  executeWithLock: 'A',
  wrap: 'B',
  '@SchedulerLock, legacy': 'C',
  '@SchedulerLock, standard': 'D',
  '@SchedulerLockDefaults': 'E',
  $executeWithLock: 'F',
  $wrapWithLock: 'G',
  executeOnce: 'H',
  leaderElection: 'I',
  shedLockCoordinator: 'J',
  exec: 'K',
}

/** One option in one entry point, under a lock of its own. */
interface Trial {
  readonly name: string
  readonly task: jest.Mock<(...args: string[]) => Promise<unknown>>
  /** The lock's row, which exists. */
  readonly lock: (suffix?: string) => Promise<LockRecord>
  /** Acquires the lock as somebody else. */
  readonly hold: (lockAtMostFor: string) => Promise<Lock>
  /** How often somebody has tried to acquire it. */
  readonly attempts: () => number
  readonly other: InMemoryLockProvider
}

interface Variant {
  /** Of the table, behind the option. */
  readonly title?: string
  readonly tried: (trial: Trial) => Options
  readonly others?: Options
  readonly hasCron?: boolean
  /** Fails if the option has no effect. */
  readonly effect: (trial: Trial, start: () => Promise<Run>) => Promise<void>
}

const MINUTE = 60_000
const SLOT = new Date('2026-11-21T03:00:00Z')

/** How long the lock stays held, in milliseconds. */
const left = ({ held, lockUntil, now }: LockRecord): number =>
  held ? lockUntil.getTime() - now.getTime() : 0

/** Runs the task once, and lets it look at its lock. */
async function inTask<T>(trial: Trial, start: () => Promise<Run>, look: () => Promise<T>): Promise<T> {
  let seen: T | undefined
  trial.task.mockImplementation(async () => (seen = await look()))
  const run = await start()
  await run('eu')
  expect(trial.task).toHaveBeenCalledTimes(1)
  return seen as T
}

const holdsForAnHour: Variant['effect'] = async (trial, start) => {
  const record = await inTask(trial, start, () => trial.lock())
  expect(left(record)).toBeGreaterThan(50 * MINUTE)
}
const holdsAfterwards: Variant['effect'] = async (trial, start) => {
  await inTask(trial, start, () => Promise.resolve())
  expect(left(await trial.lock())).toBeGreaterThan(20 * MINUTE)
}
const growsWhileItRuns = async (trial: Trial): Promise<void> => {
  const first = await trial.lock()
  await eventually(async () => {
    expect((await trial.lock()).lockUntil.getTime()).toBeGreaterThan(first.lockUntil.getTime())
  })
}

const variants: Readonly<Record<Option, readonly Variant[]>> = {
  name: [
    {
      tried: ({ name }) => ({ name }),
      effect: async (trial, start) => {
        expect((await inTask(trial, start, () => trial.lock())).held).toBe(true)
      },
    },
    {
      title: 'from arguments',
      tried: ({ name }) => ({ name: (region: string) => `${name}-${region}` }),
      effect: async (trial, start) => {
        expect((await inTask(trial, start, () => trial.lock('-eu'))).held).toBe(true)
      },
    },
  ],
  lockAtMostFor: [
    { tried: () => ({ lockAtMostFor: '1h' }), effect: holdsForAnHour },
    { title: 'a function', tried: () => ({ lockAtMostFor: () => '1h' }), effect: holdsForAnHour },
  ],
  lockAtLeastFor: [
    {
      tried: () => ({ lockAtLeastFor: '30m' }),
      others: { lockAtMostFor: '1h' },
      effect: holdsAfterwards,
    },
    {
      title: 'a function',
      tried: () => ({ lockAtLeastFor: () => '30m' }),
      others: { lockAtMostFor: '1h' },
      effect: holdsAfterwards,
    },
  ],
  slot: [
    {
      tried: () => ({ slot: SLOT }),
      effect: async ({ task }, start) => {
        const run = await start()
        await run()
        await run()
        expect(task).toHaveBeenCalledTimes(1)
      },
    },
    {
      title: 'false',
      tried: () => ({ slot: false }),
      hasCron: true,
      effect: async ({ task }, start) => {
        const run = await start()
        await run()
        await run()
        expect(task).toHaveBeenCalledTimes(2)
      },
    },
  ],
  untilSucceeded: [
    {
      tried: () => ({ untilSucceeded: true }),
      others: { slot: SLOT },
      effect: async ({ task }, start) => {
        task.mockRejectedValueOnce(new Error('boom'))
        const run = await start()
        await expect(run()).rejects.toThrow('boom')
        await run()
        await run()
        expect(task).toHaveBeenCalledTimes(2)
      },
    },
  ],
  keepAlive: [
    {
      tried: () => ({ keepAlive: true }),
      others: { lockAtMostFor: '2s' },
      effect: async (trial, start) => inTask(trial, start, () => growsWhileItRuns(trial)),
    },
    {
      title: 'with a limit',
      tried: () => ({ keepAlive: { atMost: '3s' } }),
      others: { lockAtMostFor: '2s' },
      effect: async (trial, start) => {
        const ended = promiseWithResolvers()
        trial.task.mockImplementation(async () => {
          await growsWhileItRuns(trial)
          await eventually(async () => {
            expect((await trial.lock()).held).toBe(false)
          })
          ended.resolve()
        })
        const run = await start()
        // exec stops a command whose lock is lost, so its own outcome says nothing.
        await Promise.all([ended.promise, run().catch(() => undefined)])
      },
    },
  ],
  onSkip: [
    {
      title: "'throw'",
      tried: () => ({ onSkip: 'throw' }),
      effect: async ({ task, hold }, start) => {
        await hold('1h')
        const run = await start()
        await expect(run()).rejects.toMatchObject({ code: 'SKIPPED' })
        expect(task).not.toHaveBeenCalled()
      },
    },
    {
      title: 'a function',
      tried: ({ task }) => ({ onSkip: ({ reason }: { reason: string }) => task(reason) }),
      effect: async ({ task, hold }, start) => {
        await hold('1h')
        const run = await start()
        await run()
        expect(task.mock.calls).toEqual([['held']])
      },
    },
  ],
  onError: [
    {
      tried: ({ task }) => ({ onError: (error: unknown) => task(String(error)) }),
      effect: async ({ task }, start) => {
        task.mockRejectedValueOnce('boom')
        const run = await start()
        await run()
        expect(task.mock.calls).toEqual([[], ['boom']])
      },
    },
  ],
  catchUp: [
    {
      tried: () => ({ catchUp: '36500d' }),
      others: { slot: SLOT },
      effect: async ({ task }, start) => {
        await start()
        await eventually(() => {
          expect(task).toHaveBeenCalledTimes(1)
        })
      },
    },
  ],
  provider: [
    {
      tried: () => ({ provider: 'other' }),
      effect: async (trial, start) => {
        const held = await inTask(trial, start, () => Promise.resolve(trial.other.isLocked(trial.name)))
        expect(held).toBe(true)
      },
    },
  ],
  wait: [
    {
      tried: () => ({ wait: '30s' }),
      effect: async ({ task, hold }, start) => {
        await hold('1s')
        const run = await start()
        await run()
        expect(task).toHaveBeenCalledTimes(1)
      },
    },
    {
      title: 'not for long enough',
      tried: () => ({ wait: '20ms' }),
      effect: async ({ task, hold }, start) => {
        await hold('1h')
        const run = await start()
        // exec says so by its exit status.
        await run().catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'SKIPPED' })
        })
        expect(task).not.toHaveBeenCalled()
      },
    },
  ],
  signal: [
    {
      tried: () => ({ signal: AbortSignal.abort() }),
      effect: async ({ task }, start) => {
        const run = await start()
        // executeOnce says so by an error.
        await run().catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'SKIPPED' })
        })
        expect(task).not.toHaveBeenCalled()
      },
    },
  ],
  listeners: [
    {
      tried: ({ task }) => ({ listeners: [{ onLockAcquired: ({ name }: { name: string }) => task(name) }] }),
      effect: async ({ name, task }, start) => {
        const run = await start()
        await run()
        expect(task.mock.calls).toEqual([[name], []])
      },
    },
  ],
  interval: [
    {
      // By default it would be five seconds.
      tried: () => ({ interval: '1ms' }),
      effect: async ({ task, hold, attempts }, start) => {
        const lock = await hold('1h')
        const run = await start()
        const ran = run()
        await eventually(() => {
          expect(attempts()).toBeGreaterThan(50)
        })
        await lock.unlock()
        await ran
        expect(task).toHaveBeenCalledTimes(1)
      },
    },
  ],
}

const rows = new Map(
  TABLE.trim()
    .split('\n')
    .map((line) => {
      const [title = '', cells = ''] = line.split('|')
      return [title.trim(), cells.trim().split(/\s+/)] as const
    }),
)
const cases = Object.entries(variants).flatMap(([option, all]) =>
  all.map((variant) => ({
    row: variant.title === undefined ? option : `${option}, ${variant.title}`,
    variant,
  })),
)

it('the table has a row for each option, and a column for each entry point', () => {
  const [header = [], ...others] = rows.values()
  expect(header).toEqual(Object.values(COLUMNS))
  expect(Object.keys(COLUMNS)).toEqual(Object.keys(entryPoints))
  expect([...rows.keys()].slice(1)).toEqual(cases.map(({ row }) => row))
  for (const cells of others)
    expect(cells).toEqual(header.map(() => expect.stringMatching(/^(works|refused)$/)))
})

/** The first of SQLite: a database that an app, a client of Prisma and a command can share. */
const backends = prismaBackends()
  .filter(({ name, shared }) => name === 'sqlite' && shared)
  .slice(0, 1)

describeBackends(backends)('the options of a task on $name', (backend) => {
  let locks: SqlLockProvider
  let around: Omit<Surroundings, 'other'>
  let names = 0
  const attempts = new Map<string, number>()

  beforeAll(async () => {
    const { database, dataSource } = await openDatabase(backend, migrated(), afterFile)
    locks = typeOrmLockProvider(dataSource)
    const counting = providerOf((configuration, ...rest) => {
      attempts.set(configuration.name, (attempts.get(configuration.name) ?? 0) + 1)
      return locks.acquire(configuration, ...rest)
    })
    const prisma = await database.connect()
    around = { locks: counting, url: database.url, prisma }
  })

  function newTrial(): Trial {
    const name = `job-${++names}`
    return {
      name,
      task: jest.fn<(...args: string[]) => Promise<unknown>>(),
      other: new InMemoryLockProvider(),
      attempts: () => attempts.get(name) ?? 0,
      lock: async (suffix = '') => {
        const record = await locks.table.find(name + suffix)
        assert(record, 'the lock has no row')
        return record
      },
      hold: async (lockAtMostFor) => {
        const lock = await locks.lock({ name, lockAtMostFor })
        assert(lock, 'somebody else holds the lock')
        return lock
      },
    }
  }

  /** Passes the option to the entry point. */
  async function start(entryPoint: EntryPointName, variant: Variant, trial: Trial): Promise<Run> {
    const tried = variant.tried(trial)
    const others = Object.entries({ lockAtMostFor: '1m', ...variant.others })
    const use = {
      task: trial.task,
      tried,
      others: { ...Object.fromEntries(others.filter(([option]) => !(option in tried))), name: trial.name },
      hasCron: variant.hasCron ?? false,
    }
    return entryPoints[entryPoint](use, { ...around, other: trial.other })
  }

  /** Whether the entry point refuses the option at its start, and says why. */
  async function isRefused(entryPoint: EntryPointName, variant: Variant): Promise<boolean> {
    const trial = newTrial()
    try {
      const run = await start(entryPoint, variant, trial)
      if (CALLS.includes(entryPoint)) await run()
      return false
    } catch (error) {
      const { code, message } = error as Partial<LockError>
      return code === 'INVALID_CONFIGURATION' && message !== '' && trial.task.mock.calls.length === 0
    }
  }

  /** What becomes of an option in an entry point: a word of the table, or an error. */
  async function outcome(entryPoint: EntryPointName, variant: Variant): Promise<unknown> {
    if (await isRefused(entryPoint, variant)) return 'refused'
    const trial = newTrial()
    try {
      await variant.effect(trial, () => start(entryPoint, variant, trial))
      return 'works'
    } catch (error) {
      return error
    }
  }

  it('are all flags of exec that are about its lock', async () => {
    const { stdout } = await runCli(['exec', '--help'])
    const flags = [...stdout.matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = '']) => flag)
    const others =
      /^--(url|data-source|env|schema|table-name|column-names|create-table|quiet|abort-after|skipped-exit-code|help)$/
    const rows = Object.keys(variants).map((option) => flagOf(option))
    expect(flags.length).toBeGreaterThan(10)
    expect(
      flags.filter((flag) => ![...rows, '--keep-alive-at-most'].includes(flag) && !others.test(flag)),
    ).toEqual([])
  })

  it.each(cases)('$row', async ({ row, variant }) => {
    const names = Object.keys(entryPoints) as EntryPointName[]
    const outcomes = await Promise.all(
      names.map(async (name) => [name, await outcome(name, variant)] as const),
    )
    const cells = rows.get(row) ?? []
    expect(Object.fromEntries(outcomes)).toEqual(Object.fromEntries(names.map((name, i) => [name, cells[i]])))
  })
})
