import { checkDuration, checkLockName, checkOptions, LockError, type TaskConfiguration } from '../core'

/** What a class can say once for all of its locked methods. Durations left out are the module's defaults. */
export interface SchedulerLockDefaultsOptions extends Omit<TaskConfiguration, 'name'> {
  /** A key of the module's `lockProviders`. Default: its `lockProvider`. */
  readonly provider?: string | undefined
}

/** Options of `@SchedulerLock`. */
export interface SchedulerLockOptions<
  This = unknown,
  Arguments extends unknown[] = never[],
> extends SchedulerLockDefaultsOptions {
  /**
   * The lock's name, the same in every instance of the app. Or a function that makes it for each call from the
   * method's arguments and from `this`: ``name(this: Reports, tenant: string) { return `report-${tenant}` }``.
   */
  readonly name: string | ((this: This, ...args: Arguments) => string)
}

const OPTIONS = [
  'lockAtMostFor',
  'lockAtLeastFor',
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
  checkOptions(options, ['name', ...OPTIONS], '@SchedulerLock options')
  checkDurations(typeof options.name === 'function' ? undefined : checkLockName(options.name), options)
}

function checkDurations(
  name: string | undefined,
  { lockAtMostFor, lockAtLeastFor }: SchedulerLockDefaultsOptions,
): void {
  if (lockAtMostFor !== undefined) checkDuration(name, 'lockAtMostFor', lockAtMostFor)
  if (lockAtLeastFor !== undefined) checkDuration(name, 'lockAtLeastFor', lockAtLeastFor)
}

export function invalidDecoration(message: string): LockError {
  return new LockError('INVALID_CONFIGURATION', message)
}
