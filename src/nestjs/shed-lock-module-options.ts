import type { FactoryProvider, InjectionToken, ModuleMetadata } from '@nestjs/common'
import {
  checkDuration,
  checkOptions,
  LockError,
  LockingTaskExecutor,
  type Duration,
  type LockingTaskExecutorOptions,
  type LockProvider,
} from '../core'
import type { CronTimeClass } from './cron-slot'
import type { LocksStorageLike } from './shed-lock-store'

/** Makes a lock provider of the application's DataSource or PrismaClient, as `typeOrmLockProvider` and `prismaLockProvider` do. */
export type LockProviderOfClient = (client: never) => LockProvider

/** Options of `ShedLockModule.forRoot`: where the locks are, and those of the executors. */
export interface ShedLockModuleOptions extends LockingTaskExecutorOptions {
  /**
   * For each `@SchedulerLock` that does not name another: `typeOrmLockProvider`, `prismaLockProvider`, or a function such as
   * `(dataSource: DataSource) => typeOrmLockProvider(dataSource, { schema: 'app' })`, which gets the `client`. Or a lock provider.
   */
  readonly lockProvider: LockProvider | LockProviderOfClient
  /**
   * The token of the client that `lockProvider` gets: `PrismaService`, or `getDataSourceToken('reports')`. Default: the only
   * DataSource or PrismaClient of the application; of several DataSources the one that `@InjectDataSource()` gives.
   */
  readonly client?: InjectionToken | undefined
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
   * Warns at the start of each method with `@Cron` that has no `@SchedulerLock`; `except` names those that need none, such as
   * `['Cache.clear']`. Default `false`.
   */
  readonly warnOfUnlockedCrons?: boolean | { readonly except: readonly string[] } | undefined
  /**
   * With `NODE_ENV=production` an application does not start whose locks are in memory, because each instance would have
   * its own. `true` starts it, for an application of a single instance. Default `false`.
   */
  readonly allowInMemory?: boolean | undefined
}

/** The class `LocksStorage` of `@nestjs/locks`. */
export type LocksStorageClass = abstract new (...parameters: never[]) => LocksStorageLike

/** For applications with `@nestjs/locks`. */
export interface LocksStorageOption {
  /** `LocksStorage` of `@nestjs/locks`: the locks of `lockProvider` become the store of its `LocksModule`. Default: no store. */
  readonly locksStorage?: LocksStorageClass | undefined
}

/** Options of `ShedLockModule.forRootAsync`: how to make the options from what Nest provides. */
export interface ShedLockModuleAsyncOptions<Dependencies extends unknown[]> extends LocksStorageOption {
  /** The modules that provide what `inject` names, unless they are global. */
  readonly imports?: ModuleMetadata['imports']
  /** What the factory gets, such as `[DataSource]` or `[PrismaService]`. */
  readonly inject?: FactoryProvider['inject']
  /** Makes the options, once, when the application starts. */
  readonly useFactory: (
    ...dependencies: Dependencies
  ) => ShedLockModuleOptions | Promise<ShedLockModuleOptions>
}

const OPTIONS = [
  ...['lockProvider', 'client', 'lockProviders', 'cronTime', 'shutdownTimeout'],
  ...['warnOfUnlockedCrons', 'allowInMemory'],
] as const
const EXECUTOR_OPTIONS = ['defaultLockAtMostFor', 'defaultLockAtLeastFor', 'listeners'] as const

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkModuleOptions(options: ShedLockModuleOptions): void {
  checkOptions(options, [...OPTIONS, ...EXECUTOR_OPTIONS], 'ShedLockModule options')
  const { lockProvider, lockProviders = {}, cronTime, shutdownTimeout, warnOfUnlockedCrons } = options
  if (typeof lockProvider !== 'function') checkProvider('lockProvider', lockProvider)
  for (const [name, provider] of Object.entries(lockProviders))
    checkProvider(`lockProviders.${name}`, provider)
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

function checkProvider(option: string, provider: LockProvider | undefined): void {
  if (typeof provider?.lock === 'function') return
  throw invalid(
    `${option} of ShedLockModule is not a lock provider – pass typeOrmLockProvider(dataSource) or prismaLockProvider(prisma).`,
  )
}

function invalid(message: string): LockError {
  return new LockError('INVALID_CONFIGURATION', message)
}
