import { checkSchedulerLockDefaults, type SchedulerLockDefaultsOptions } from './scheduler-lock-options'

const DEFAULTS = Symbol.for('shedlock-orm.defaults')

/**
 * Defaults for each `@SchedulerLock` in this class and its subclasses. A subclass may override them one by one.
 *
 * @throws LockError `INVALID_CONFIGURATION` for unknown options and impossible durations, when the class is loaded
 */
export function SchedulerLockDefaults(
  defaults: SchedulerLockDefaultsOptions,
): (target: abstract new (...args: never[]) => unknown, context?: ClassDecoratorContext) => void {
  checkSchedulerLockDefaults(defaults)
  return (target) => {
    const prototype = target.prototype as object
    Object.defineProperty(prototype, DEFAULTS, { value: { ...defaultsOf(prototype), ...defaults } })
  }
}

export function defaultsOf(instance: object): SchedulerLockDefaultsOptions {
  return (instance as { [DEFAULTS]?: SchedulerLockDefaultsOptions })[DEFAULTS] ?? {}
}
