import 'reflect-metadata'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import type { Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { jest } from '@jest/globals'
import {
  aDuration,
  executeOnce,
  leaderElection,
  LockError,
  LockingTaskExecutor,
  type Duration,
  type ExecuteOnceConfiguration,
  type LeaderElection,
  type LeaderElectionConfiguration,
  type LockProvider,
  type TaskConfiguration,
  type WrapConfiguration,
} from '../../src/core/internal'
import { ShedLockModule, type SchedulerLockDefaults, type SchedulerLockOptions } from '../../src/nestjs'
import { shedLockCoordinator } from '../../src/node-cron'
import { shedlock } from '../../src/prisma/internal'
import { afterTest } from '../after-test'
import { runCli } from '../cli/built-cli'
import type { TestClient } from '../prisma/clients'

/** Every option of a task, by whichever entry point. */
export type Option =
  | keyof TaskConfiguration
  | keyof WrapConfiguration
  | keyof SchedulerLockOptions
  | keyof ExecuteOnceConfiguration
  | keyof LeaderElectionConfiguration

export type Options = Readonly<Partial<Record<Option, unknown>>>
export type Task = (...args: string[]) => unknown

/** A task and its options, to be passed to an entry point. */
export interface Use {
  readonly task: Task
  /** The option that is tried. A `slot` is a Date, even where it has to be a function. */
  readonly tried: Options
  /** What it needs besides. */
  readonly others: Options & { readonly name: string }
  /** Whether the method of Nest has a `@Cron`. */
  readonly hasCron: boolean
}

export interface Surroundings {
  readonly locks: LockProvider
  /** Of Nest's `provider: 'other'`. */
  readonly other: LockProvider
  readonly url: string
  readonly prisma: TestClient
}

/** Runs or skips the task once, as its scheduler would do; rejects as that would see it. */
export type Run = (...args: string[]) => Promise<unknown>
export type EntryPoint = (use: Use, around: Surroundings) => Run | Promise<Run>

const all = ({ tried, others }: Use): Options & { name: unknown } => ({ ...others, ...tried })

/** The entry points get options from a prototype, as an object of a class may have them. All other tests pass own properties. */
const inherited = <Given extends Options>(options: Given): Given => Object.create(options) as Given

/** Where calls differ in their slots, it is a function that returns one. */
function withSlotOfCall<Given extends Options>(options: Given): Given {
  const { slot } = options
  return inherited(slot instanceof Date ? { ...options, slot: () => slot } : options)
}

/** A folder is compiled as its tsconfig.json says, so the path must not make it part of this one. */
type LockedJob = (
  task: Task,
  options: SchedulerLockOptions,
  defaults?: Parameters<typeof SchedulerLockDefaults>[0],
) => Type<{ run: Task }>
const lockedJob = (decorators: 'legacy' | 'standard'): LockedJob =>
  jest.requireActual<{ lockedJob: LockedJob }>(`../nestjs/${decorators}/locked-job.ts`).lockedJob

async function nest(
  job: Type<{ run: Task }>,
  hasCron: boolean,
  { locks, other }: Surroundings,
): Promise<Run> {
  if (hasCron)
    Cron('0 3 * * *')(job.prototype as object, 'run', { value: (job.prototype as { run: Task }).run })
  const locking = ShedLockModule.forRoot({
    lockProvider: locks,
    lockProviders: { other },
    cronTime: CronTime,
  })
  const application = await NestFactory.createApplicationContext(
    { ...locking, providers: [...(locking.providers ?? []), job] },
    { logger: false, abortOnError: false },
  )
  afterTest(() => application.close())
  const made = application.get(job)
  return (...args) => Promise.resolve(made.run(...args))
}

export const entryPoints = {
  executeWithLock: (use, { locks }) => {
    const executor = new LockingTaskExecutor(locks)
    return (...args) =>
      executor.executeWithLock(inherited(all(use)) as TaskConfiguration, () => use.task(...args))
  },

  wrap: (use, { locks }) =>
    new LockingTaskExecutor(locks).wrap(
      withSlotOfCall(all(use)) as WrapConfiguration<unknown, string[]> & { onError: () => void },
      use.task,
    ),

  '@SchedulerLock, legacy': (use, around) =>
    nest(
      lockedJob('legacy')(use.task, withSlotOfCall(all(use)) as SchedulerLockOptions),
      use.hasCron,
      around,
    ),

  '@SchedulerLock, standard': (use, around) =>
    nest(
      lockedJob('standard')(use.task, withSlotOfCall(all(use)) as SchedulerLockOptions),
      use.hasCron,
      around,
    ),

  '@SchedulerLockDefaults': ({ task, tried, others, hasCron }, around) =>
    nest(
      lockedJob('legacy')(
        task,
        withSlotOfCall(others) as SchedulerLockOptions,
        withSlotOfCall(tried) as Parameters<typeof SchedulerLockDefaults>[0],
      ),
      hasCron,
      around,
    ),

  $executeWithLock: (use, { prisma }) => {
    const client = prisma.$extends(shedlock())
    return (...args) =>
      client.$executeWithLock(inherited(all(use)) as TaskConfiguration, () => use.task(...args))
  },

  $wrapWithLock: (use, { prisma }) =>
    prisma
      .$extends(shedlock())
      .$wrapWithLock(
        withSlotOfCall(all(use)) as WrapConfiguration<unknown, string[]> & { onError: () => void },
        use.task,
      ),

  executeOnce:
    (use, { locks }) =>
    (...args) =>
      executeOnce(locks, inherited(all(use)) as unknown as ExecuteOnceConfiguration, () => use.task(...args)),

  leaderElection:
    (use, { locks }) =>
    async (...args) => {
      const elections: LeaderElection[] = []
      try {
        return await new Promise((resolve, reject) => {
          const onElected = () => Promise.resolve(use.task(...args)).then(resolve, reject)
          const configuration = inherited(all(use)) as unknown as LeaderElectionConfiguration
          elections.push(leaderElection(locks, configuration, { onElected }))
        })
      } finally {
        await elections[0]?.shutdown()
      }
    },

  shedLockCoordinator: (use, { locks }) => {
    const { name, lockAtMostFor, slot = new Date(), ...rest } = all(use)
    // What node-cron says of a task: its name, its distributedLease, and the time of the fire. All else is an option here.
    const isOfNodeCron =
      typeof name === 'string' && typeof lockAtMostFor !== 'function' && slot instanceof Date
    const options = isOfNodeCron ? rest : { ...rest, name, lockAtMostFor, slot }
    const coordinator = shedLockCoordinator(
      locks,
      inherited(options) as Parameters<typeof shedLockCoordinator>[1],
    )
    const key = `${String(name)}:${(slot as Date).toISOString()}`
    return async (...args) => {
      if (!(await coordinator.shouldRun(key, aDuration(lockAtMostFor as Duration, 'lockAtMostFor'))))
        return undefined
      try {
        return await use.task(...args)
      } finally {
        await coordinator.onComplete(key)
      }
    }
  },

  exec:
    (use, { url }) =>
    async (...args) => {
      // The command is as long as the task, and as successful.
      const server = createServer((socket) => {
        const answer = (status: string) => (): void => void socket.end(status)
        new Promise((resolve) => {
          resolve(use.task(...args))
        }).then(answer('0'), answer('1'))
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as AddressInfo
      const script = `require('node:net').connect(${port}, '127.0.0.1').on('data', (status) => process.exit(Number(status)))`
      const command = [...flags(all(use)), '--', process.execPath, '-e', script]
      const { status, stderr } = await runCli(['exec', ...command], { env: { DATABASE_URL: url } })
      server.close()
      if (status === WRONG_USAGE) throw new LockError('INVALID_CONFIGURATION', stderr)
      if (status !== 0 && status !== SKIPPED) throw new Error(`status ${status}: ${stderr}`)
      return undefined
    },
} satisfies Readonly<Record<string, EntryPoint>>

export type EntryPointName = keyof typeof entryPoints

/** Those that are called with their options for each run: that is their start. */
export const CALLS: readonly EntryPointName[] = [
  ...(['executeWithLock', '$executeWithLock', 'executeOnce', 'leaderElection', 'exec'] as const),
]

const WRONG_USAGE = 2
const SKIPPED = 75

export function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Options as they are typed at a prompt. */
function flags({ name, keepAlive, ...options }: Options): string[] {
  const rest = Object.entries(options).flatMap(([option, value]) =>
    value === true
      ? [flagOf(option)]
      : [flagOf(option), value instanceof Date ? value.toISOString() : String(value)],
  )
  const { atMost } = (keepAlive ?? {}) as { atMost?: string }
  const alive =
    keepAlive === undefined ? [] : atMost === undefined ? ['--keep-alive'] : ['--keep-alive-at-most', atMost]
  // A shell makes the name from what it knows.
  return [typeof name === 'function' ? 'report-${tenant}' : String(name), ...alive, ...rest]
}
