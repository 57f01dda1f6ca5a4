import {
  aDuration,
  aString,
  parseLockName,
  parseNameOrFunction,
  parseOptions,
  optionError,
  nameOf,
  TASK_OPTIONS,
  type Duration,
  type OptionParsers,
  type TaskConfiguration,
} from '../core/internal'

/**
 * Options of `@SchedulerLock`. Durations that are left out default to those of `@SchedulerLockDefaults`, then to the module's.
 *
 * A duration may be a function that returns one once the application's configuration is loaded: `() => process.env.REPORT_LOCK ??
 * '10m'`, or, using an injected service, ``lockAtMostFor(this: Reports) { return this.config.get('report.lock') }``. The function is
 * called when the application starts, which fails if the duration is wrong, and again for each run.
 */
export interface SchedulerLockOptions<This = unknown, Arguments extends unknown[] = never[]> extends Omit<
  TaskConfiguration,
  'name' | 'slot' | 'lockAtMostFor' | 'lockAtLeastFor'
> {
  /**
   * The lock's name, which must be the same in every instance of the app, or a function that returns it for each call from the
   * method's arguments and `this`: ``name(this: Reports, tenant: string) { return `report-${tenant}` }``.
   */
  readonly name: string | ((this: This, ...args: Arguments) => string)
  /** The lock expires after this long. Default: the module's `defaultLockAtMostFor`. */
  readonly lockAtMostFor?: Duration | ((this: This) => Duration) | undefined
  /** The lock stays held for at least this long, even if the run ends sooner. Default: the module's `defaultLockAtLeastFor`, or 0. */
  readonly lockAtLeastFor?: Duration | ((this: This) => Duration) | undefined
  /** A key of the module's `lockProviders`. Default: its `lockProvider`. */
  readonly provider?: string | undefined
  /**
   * A function that returns when the run was due, called like the function for the name. If it returns nothing, the call is refused.
   * A method with neither slots nor `lockAtLeastFor` causes a process warning when the application starts, as `wrap` does.
   * `false` means that the method has no slots despite its `@Cron`, for example because it is also called by hand. Default:
   * the time at which its `@Cron` was last due, if the module has `cronTime`, otherwise no slot. `@Interval` and `@Timeout` have no
   * slots, because each instance counts from its own start.
   */
  readonly slot?:
    false | ((this: This, ...args: Arguments) => NonNullable<TaskConfiguration['slot']>) | undefined
  /**
   * How late a missed run may be made up for: the application runs the method at its start for the time at which it was last due, if
   * that is not longer ago than this, and no instance ran it for that time. In a SQL table, a job that nobody has run before, or that ran
   * last by another expression, has missed nothing; and as long as the database does not answer, it is asked again. Needs slots. The
   * method is called without arguments, and the start does not wait for it. With `untilSucceeded`, a run that still goes on when the
   * application starts is repeated if it fails, as long as `wait` has not ended. Default: missed runs are not made up for.
   */
  readonly catchUp?: Duration | undefined
}

export type SchedulerLockDefaultsOptions = Omit<SchedulerLockOptions, 'name' | 'slot' | 'catchUp'>

const { name: _, slot: __, ...RUN_OPTIONS } = TASK_OPTIONS
export const DEFAULT_OPTIONS = {
  ...RUN_OPTIONS,
  lockAtMostFor: aConfiguredDuration,
  lockAtLeastFor: aConfiguredDuration,
  provider: aString,
} satisfies OptionParsers<SchedulerLockDefaultsOptions>
const OPTIONS = {
  name: parseNameOrFunction,
  ...DEFAULT_OPTIONS,
  slot: parseSlotOption,
  catchUp: aDuration,
} satisfies OptionParsers<SchedulerLockOptions>

/** @throws LockError `INVALID_CONFIGURATION` */
export function parseSchedulerLockOptions(options: SchedulerLockOptions): SchedulerLockOptions {
  const parsed = parseOptions(options, OPTIONS, '@SchedulerLock options', nameOf(options))
  return { ...parsed, name: parsed.name ?? parseLockName(undefined) }
}

function aConfiguredDuration<Value>(duration: Value, option: string, lockName?: string): Value {
  if (typeof duration !== 'function') aDuration(duration as Duration, option, lockName)
  return duration
}

function parseSlotOption<Value>(slot: Value, option: string, lockName?: string): Value {
  if (slot === false || typeof slot === 'function') return slot
  throw optionError(option, 'false, or a function, because every call has its own slot', lockName)
}
