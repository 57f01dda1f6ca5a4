import { Logger } from '@nestjs/common'
import {
  aBoolean,
  anObject,
  parseOptions,
  parseProvider,
  parseShutdown,
  type CronTimeLike,
  EXECUTOR_OPTIONS,
  configurationError,
  loggingListener,
  LockingTaskExecutor,
  type LockingTaskExecutorOptions,
  type LockProvider,
  optionError,
  type OptionParsers,
  type ShutdownOptions,
} from '../core/internal'

/** Options of `ShedLockModule.forRoot`: where the locks are kept, and the options of the executors. */
export interface ShedLockModuleOptions extends LockingTaskExecutorOptions {
  /**
   * The lock provider for each `@SchedulerLock` that names no other, or a function that creates it, such as `typeOrmLockProvider`,
   * `prismaLockProvider` or `(dataSource: DataSource) => typeOrmLockProvider(dataSource, { schema: 'app' })`. The function is called
   * with the application's only DataSource or PrismaClient, or with the default DataSource if there are several.
   */
  readonly lockProvider: LockProvider | ((client: never) => LockProvider)
  /** Further lock providers, by the names that `@SchedulerLock({ provider })` uses. */
  readonly lockProviders?: Readonly<Record<string, LockProvider>> | undefined
  /**
   * Listeners to the events of all executors, in place of the default one. It logs each run, when it has ended, and each skip at `debug`
   * through Nest's logger, and lost locks, failed extensions and failed releases at `warn`; calls that failed reject, so their callers log them.
   * `[loggingListener(new Logger('ShedLock')), …]` adds listeners, and `[]` logs nothing.
   */
  readonly listeners?: LockingTaskExecutorOptions['listeners']
  /**
   * The class `CronTime` of the package `cron`, which `@nestjs/schedule` uses. With it, every method with `@Cron` and
   * `@SchedulerLock` runs once for each time at which it is due, even if the instances' clocks differ. Their expressions must not:
   * a method whose expression is computed at start-up needs `slot: false` and `lockAtLeastFor`. Default: no slots.
   */
  readonly cronTime?:
    | {
        new (source: string | Date, timeZone: string | null, utcOffset: null): CronTimeLike
        new (source: string | Date, timeZone: null, utcOffset: number): CronTimeLike
      }
    | undefined
  /**
   * How long the application's shutdown waits for running tasks, and when it aborts their signals. Default: as of
   * `LockingTaskExecutor.shutdown`.
   */
  readonly shutdown?: ShutdownOptions | undefined
  /**
   * Whether the application warns at its start about each method that has `@Cron` or `@Interval` but no `@SchedulerLock`. `except`
   * lists the methods that need no lock, such as `['Cache.clear']`. Default `false`.
   */
  readonly warnOfUnlockedCrons?: boolean | { readonly except: readonly string[] } | undefined
  /**
   * Whether the application may start with `NODE_ENV=production` although its locks are in memory, which exclude nothing outside of
   * the process. Meant for an application with a single instance. Default `false`.
   */
  readonly allowInMemory?: boolean | undefined
}

export const MODULE_OPTIONS = {
  ...EXECUTOR_OPTIONS,
  lockProvider: parseLockProvider,
  lockProviders: (lockProviders: Readonly<Record<string, LockProvider>>, option: string) => {
    for (const [name, provider] of Object.entries(anObject(lockProviders, option)))
      parseProvider(provider, `lockProviders.${name} of ShedLockModule`)
  },
  cronTime: (cronTime: unknown) => {
    if (typeof cronTime !== 'function')
      throw configurationError(
        "cronTime of ShedLockModule is not a class – pass CronTime from the package 'cron'.",
      )
  },
  shutdown: parseShutdown,
  warnOfUnlockedCrons: (value: NonNullable<ShedLockModuleOptions['warnOfUnlockedCrons']>, option: string) => {
    if (typeof value !== 'object') aBoolean(value, option)
    else parseOptions(value, { except: checkExcept }, `options of ${option}`)
  },
  allowInMemory: aBoolean,
} satisfies OptionParsers<ShedLockModuleOptions>

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkModuleOptions(options: ShedLockModuleOptions): void {
  const { lockProvider } = parseOptions(options, MODULE_OPTIONS, 'ShedLockModule options')
  if (lockProvider === undefined) parseLockProvider(lockProvider)
}

function parseLockProvider<Value>(lockProvider: Value): Value {
  if (typeof lockProvider === 'function') return lockProvider
  return parseProvider(lockProvider, 'lockProvider of ShedLockModule')
}

function checkExcept(except: unknown, option: string): void {
  if (!Array.isArray(except) || !except.every((method) => typeof method === 'string'))
    throw optionError(`${option} of warnOfUnlockedCrons`, "an array of method names, such as ['Cache.clear']")
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function executorsFor(
  options: ShedLockModuleOptions,
  providers: ReadonlyMap<string | undefined, LockProvider>,
): ReadonlyMap<string | undefined, LockingTaskExecutor> {
  // `@nestjs/schedule` and Nest's exception filters log what a call rejects with.
  const { onLockFailed: _, ...logging } = loggingListener(new Logger('ShedLock'))
  const { defaultLockAtMostFor, defaultLockAtLeastFor, listeners = [logging] } = options
  const executorOptions = { defaultLockAtMostFor, defaultLockAtLeastFor, listeners } satisfies Record<
    keyof LockingTaskExecutorOptions,
    unknown
  >
  return new Map(
    Array.from(providers, ([name, provider]) => [name, new LockingTaskExecutor(provider, executorOptions)]),
  )
}
