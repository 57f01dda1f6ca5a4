import {
  checkDuration,
  checkLockName,
  checkOptions,
  invalid,
  type Duration,
  type TaskConfiguration,
} from '../core'

/**
 * A duration, or a function that gives it once the application has its configuration: `() => process.env.REPORT_LOCK ??
 * '10m'`, or from what was injected, ``lockAtMostFor(this: Reports) { return this.config.get('report.lock') }``. It is
 * called when the application starts, where a wrong duration is refused, and for each run.
 */
export type ConfiguredDuration<This = unknown> = Duration | ((this: This) => Duration)

/** What a class can say once for all of its locked methods. Durations left out are the module's defaults. */
export interface SchedulerLockDefaultsOptions<This = unknown> extends Omit<
  TaskConfiguration,
  'name' | 'slot' | 'lockAtMostFor' | 'lockAtLeastFor'
> {
  /** The lock expires after this long. Default: the module's `defaultLockAtMostFor`. */
  readonly lockAtMostFor?: ConfiguredDuration<This> | undefined
  /** The lock stays held for at least this long, however short the run is. Default: the module's `defaultLockAtLeastFor`, else 0. */
  readonly lockAtLeastFor?: ConfiguredDuration<This> | undefined
  /** A key of the module's `lockProviders`. Default: its `lockProvider`. */
  readonly provider?: string | undefined
}

/** Options of `@SchedulerLock`. */
export interface SchedulerLockOptions<
  This = unknown,
  Arguments extends unknown[] = never[],
> extends SchedulerLockDefaultsOptions<This> {
  /**
   * The lock's name, the same in every instance of the app. Or a function that makes it for each call from the
   * method's arguments and from `this`: ``name(this: Reports, tenant: string) { return `report-${tenant}` }``.
   */
  readonly name: string | ((this: This, ...args: Arguments) => string)
  /**
   * When a run is due, made for each call as the name is; `undefined` for a call without a slot. `false`: the method has no
   * slots, also when it is called by hand beside its `@Cron`. Default: the time at which its `@Cron` was due last, if the
   * module has `cronTime`, else none. `@Interval` and `@Timeout` have none: each instance counts from its own start.
   */
  readonly slot?: false | ((this: This, ...args: Arguments) => Date | number | undefined) | undefined
  /**
   * Whether the application, when it starts, runs the method for the time at which it was due last, if no instance ran it
   * then. Beware: after a long outage, and for a new name, that is at another time of day than was meant. Needs slots; the
   * method is called without arguments, and nobody waits for it. Default `false`.
   */
  readonly catchUp?: boolean | undefined
}

const OPTIONS = [
  'lockAtMostFor',
  'lockAtLeastFor',
  'untilSucceeded',
  'keepAlive',
  'onNotAcquired',
  'provider',
] as const satisfies readonly (keyof SchedulerLockDefaultsOptions)[]

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkSchedulerLockDefaults(options: SchedulerLockDefaultsOptions): void {
  checkOptions(options, OPTIONS, '@SchedulerLockDefaults options')
  checkDurations(undefined, options)
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkSchedulerLockOptions(options: SchedulerLockOptions): void {
  checkOptions(options, ['name', 'slot', 'catchUp', ...OPTIONS], '@SchedulerLock options')
  const { slot } = options
  if (slot !== undefined && slot !== false && typeof slot !== 'function')
    throw invalid('slot of @SchedulerLock must be a function, because every call has another, or false.')
  checkDurations(typeof options.name === 'function' ? undefined : checkLockName(options.name), options)
}

function checkDurations(
  name: string | undefined,
  { lockAtMostFor, lockAtLeastFor }: SchedulerLockDefaultsOptions,
): void {
  for (const [what, duration] of Object.entries({ lockAtMostFor, lockAtLeastFor }))
    if (duration !== undefined && typeof duration !== 'function') checkDuration(name, what, duration)
}
