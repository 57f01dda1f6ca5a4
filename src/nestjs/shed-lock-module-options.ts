import type { FactoryProvider, ModuleMetadata } from '@nestjs/common'
import {
  checkDuration,
  checkOptions,
  checkProvider,
  type Duration,
  EXECUTOR_OPTIONS,
  invalid,
  LockingTaskExecutor,
  type LockingTaskExecutorOptions,
  type LockProvider,
} from '../core'
import type { CronTimeClass } from './cron-slot'

/** Makes a lock provider of the application's DataSource or PrismaClient, as `typeOrmLockProvider` and `prismaLockProvider` do. */
export type LockProviderOfClient = (client: never) => LockProvider

/** Options of `ShedLockModule.forRoot`: where the locks are, and those of the executors. */
export interface ShedLockModuleOptions extends LockingTaskExecutorOptions {
  /**
   * For each `@SchedulerLock` that does not name another: a lock provider; or `typeOrmLockProvider`, `prismaLockProvider` or a
   * function such as `(dataSource: DataSource) => typeOrmLockProvider(dataSource, { schema: 'app' })`, which gets the only
   * DataSource or PrismaClient of the application, or of several DataSources the default one.
   */
  readonly lockProvider: LockProvider | LockProviderOfClient
  /** Further ones, by the name that `@SchedulerLock({ provider })` says. */
  readonly lockProviders?: Readonly<Record<string, LockProvider>>
  /**
   * `CronTime` of the package `cron`, which `@nestjs/schedule` uses: then every method with `@Cron` and `@SchedulerLock` runs
   * once for each time at which it is due, whatever the clocks of the instances. Default: no slots.
   */
  readonly cronTime?: CronTimeClass | undefined
  /** How long the application waits at its shutdown for runs in flight, after it told them to stop. Default 10 seconds. */
  readonly shutdownTimeout?: Duration
  /**
   * Warns at the start of each method with `@Cron` or `@Interval` that has no `@SchedulerLock`; `except` names those that need
   * none, such as `['Cache.clear']`. Default `false`.
   */
  readonly warnOfUnlockedCrons?: boolean | { readonly except: readonly string[] } | undefined
  /**
   * With `NODE_ENV=production` an application does not start whose locks are in memory, because each instance would have
   * its own. `true` starts it, for an application of a single instance. Default `false`.
   */
  readonly allowInMemory?: boolean | undefined
}

/** Options of `ShedLockModule.forRootAsync`: how to make the options from what Nest provides. */
export interface ShedLockModuleAsyncOptions<Dependencies extends unknown[]> {
  /** The modules that provide what `inject` names, unless they are global. */
  readonly imports?: ModuleMetadata['imports']
  /** What the factory gets, such as `[DataSource]` or `[PrismaService]`. */
  readonly inject?: FactoryProvider['inject']
  /** Makes the options, once, when the application starts. */
  readonly useFactory: (
    ...dependencies: Dependencies
  ) => ShedLockModuleOptions | Promise<ShedLockModuleOptions>
}

const OPTIONS: readonly string[] = [
  'lockProvider',
  'lockProviders',
  'cronTime',
  'shutdownTimeout',
  'warnOfUnlockedCrons',
  'allowInMemory',
  ...EXECUTOR_OPTIONS,
] satisfies (keyof ShedLockModuleOptions)[]

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkModuleOptions(options: ShedLockModuleOptions): void {
  checkOptions(options, OPTIONS, 'ShedLockModule options')
  const { lockProvider, lockProviders = {}, cronTime, shutdownTimeout, warnOfUnlockedCrons } = options
  if (typeof lockProvider !== 'function') checkProvider(lockProvider, 'lockProvider of ShedLockModule')
  for (const [name, provider] of Object.entries(lockProviders))
    checkProvider(provider, `lockProviders.${name} of ShedLockModule`)
  if (cronTime !== undefined && typeof cronTime !== 'function')
    throw invalid("cronTime of ShedLockModule is not a class – pass CronTime from the package 'cron'.")
  if (shutdownTimeout !== undefined) checkDuration(undefined, 'shutdownTimeout', shutdownTimeout)
  if (typeof warnOfUnlockedCrons === 'object' && !Array.isArray(warnOfUnlockedCrons.except))
    throw invalid("except of warnOfUnlockedCrons must be an array of methods, such as ['Cache.clear'].")
  executorsFor(options, new Map([[undefined, { lock: () => Promise.resolve(undefined) }]]))
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function executorsFor(
  { defaultLockAtMostFor, defaultLockAtLeastFor, listeners }: ShedLockModuleOptions,
  providers: ReadonlyMap<string | undefined, LockProvider>,
): ReadonlyMap<string | undefined, LockingTaskExecutor> {
  const options = { defaultLockAtMostFor, defaultLockAtLeastFor, listeners }
  return new Map(
    Array.from(providers, ([name, provider]) => [name, new LockingTaskExecutor(provider, options)]),
  )
}
