import type { FactoryProvider, ModuleMetadata } from '@nestjs/common'
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

/** Options of `ShedLockModule.forRoot`: where the locks are, and those of the executors. */
export interface ShedLockModuleOptions extends LockingTaskExecutorOptions {
  /** For each `@SchedulerLock` that does not name another, such as `typeOrmLockProvider(dataSource)`. */
  readonly lockProvider: LockProvider
  /** Further ones, by the name that `@SchedulerLock({ provider })` says. */
  readonly lockProviders?: Readonly<Record<string, LockProvider>>
  /**
   * `CronTime` of the package `cron`, which `@nestjs/schedule` uses: then every method with `@Cron` and `@SchedulerLock` runs
   * once for each time at which it is due, whatever the clocks of the instances. Default: no slots.
   */
  readonly cronTime?: CronTimeClass | undefined
  /** How long the application waits at its shutdown for runs in flight, after it told them to stop. Default 10 seconds. */
  readonly shutdownTimeout?: Duration
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

/** @throws LockError `INVALID_CONFIGURATION` */
export function executorsFor(
  options: ShedLockModuleOptions,
): ReadonlyMap<string | undefined, LockingTaskExecutor> {
  checkOptions(options, [...OPTIONS, ...EXECUTOR_OPTIONS], 'ShedLockModule options')
  const { lockProvider, lockProviders = {}, cronTime, shutdownTimeout, ...executorOptions } = options
  if (cronTime !== undefined && typeof cronTime !== 'function')
    throw new LockError(
      'INVALID_CONFIGURATION',
      "cronTime of ShedLockModule is no class – give it CronTime of the package 'cron'.",
    )
  if (shutdownTimeout !== undefined) checkDuration(undefined, 'shutdownTimeout', shutdownTimeout)
  const providers = [[undefined, lockProvider] as const, ...Object.entries(lockProviders)]
  return new Map(
    providers.map(([name, provider]) => {
      if (typeof (provider as LockProvider | undefined)?.lock !== 'function') {
        throw new LockError(
          'INVALID_CONFIGURATION',
          `${name === undefined ? 'lockProvider' : `lockProviders.${name}`} of ShedLockModule is no lock provider – pass typeOrmLockProvider(dataSource) or prismaLockProvider(prisma).`,
        )
      }
      return [name, new LockingTaskExecutor(provider, executorOptions)]
    }),
  )
}

const OPTIONS = ['lockProvider', 'lockProviders', 'cronTime', 'shutdownTimeout'] as const
const EXECUTOR_OPTIONS = ['defaultLockAtMostFor', 'defaultLockAtLeastFor', 'listeners'] as const
