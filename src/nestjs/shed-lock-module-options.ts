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

/** Options of `ShedLockModule.forRoot`: where the locks are kept, and the options of the executors. */
export interface ShedLockModuleOptions extends LockingTaskExecutorOptions {
  /**
   * The lock provider for each `@SchedulerLock` that names no other. Or a function that makes it, such as `typeOrmLockProvider`,
   * `prismaLockProvider` or `(dataSource: DataSource) => typeOrmLockProvider(dataSource, { schema: 'app' })`: it is called with the
   * only DataSource or PrismaClient of the application, or, of several DataSources, with the default one.
   */
  readonly lockProvider: LockProvider | LockProviderOfClient
  /** Further lock providers, by the names that `@SchedulerLock({ provider })` uses. */
  readonly lockProviders?: Readonly<Record<string, LockProvider>>
  /**
   * `CronTime` of the package `cron`, which `@nestjs/schedule` uses. With it, every method with `@Cron` and `@SchedulerLock` runs once
   * for each time at which it is due, whatever the clocks of the instances say. Default: no slots.
   */
  readonly cronTime?: CronTimeClass | undefined
  /** How long the application waits for running tasks at its shutdown, after it has told them to stop. Default 10 seconds. */
  readonly shutdownTimeout?: Duration
  /**
   * Whether the application warns at its start of each method that has `@Cron` or `@Interval` but no `@SchedulerLock`. `except` lists
   * the methods that need no lock, such as `['Cache.clear']`. Default `false`.
   */
  readonly warnOfUnlockedCrons?: boolean | { readonly except: readonly string[] } | undefined
  /**
   * Whether the application may start with `NODE_ENV=production` though its locks are in memory, where each instance has its own: for
   * an application with a single instance. Default `false`.
   */
  readonly allowInMemory?: boolean | undefined
}

/** Options of `ShedLockModule.forRootAsync`: how to make the module's options from what Nest provides. */
export interface ShedLockModuleAsyncOptions<Dependencies extends unknown[]> {
  /** The modules that provide what `inject` names, unless they are global. */
  readonly imports?: ModuleMetadata['imports']
  /** The tokens of what is passed to the factory, such as `[DataSource]` or `[PrismaService]`. */
  readonly inject?: FactoryProvider['inject']
  /** Makes the module's options, once, when the application starts. */
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
    throw invalid(
      "except of warnOfUnlockedCrons must be an array of names of methods, such as ['Cache.clear'].",
    )
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
