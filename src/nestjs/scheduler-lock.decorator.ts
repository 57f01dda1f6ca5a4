import { parseDue, parseOptions, type Duration, executeJob, configurationError } from '../core/internal'
import { executorsOf, injectExecutors } from './locking-task-executors'
import {
  DEFAULT_OPTIONS,
  parseSchedulerLockOptions,
  type SchedulerLockDefaultsOptions,
  type SchedulerLockOptions,
} from './scheduler-lock-options'

type Method = (this: object, ...args: never[]) => unknown

/** `reflect-metadata`, which Nest loads. */
const reflect = Reflect as unknown as {
  defineMetadata(key: symbol, value: unknown, prototype: object, method: PropertyKey): void
  getOwnMetadata(key: symbol, prototype: object, method: PropertyKey): unknown
}

/** The metadata of a method with its lock. It is kept by the class, because other decorators replace its functions. */
const LOCK = Symbol.for('shedlock-orm.lock')
const DEFAULTS = Symbol.for('shedlock-orm.defaults')

/**
 * Runs the method under a lock each time it is called by `@Cron`, `@Interval`, `@Timeout` or your code, and skips it if the lock is
 * refused. A call by hand is skipped if the last slot has run: make it through `runNow`.
 *
 * Decorators below it run under the lock; those above it run outside. So put it above a decorator that opens a transaction.
 *
 * The method returns a promise of its own value, or of `undefined` if it was skipped. With `onSkip: 'throw'`, a skipped call
 * rejects with a `LockError` `SKIPPED` or `SHUTDOWN`. Inside the method, `activeLock()` returns the lock with its `signal`.
 *
 * @returns a legacy decorator (`experimentalDecorators`), as those of Nest
 * @throws LockError `INVALID_CONFIGURATION` when the class is loaded, for wrong options or anything but an instance method. A call
 *   rejects with `INVALID_CONFIGURATION` if `ShedLockModule` is not imported or if the method returns an Observable, and with another
 *   `LockError` if it is unknown whether the lock was acquired: the method then does not run
 */
export function SchedulerLock<This = unknown, Arguments extends unknown[] = never[]>(
  options: SchedulerLockOptions<This, Arguments>,
): <T>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<T>) => void {
  const parsed = parseSchedulerLockOptions(options as unknown as SchedulerLockOptions)
  return (prototype: object, key: string | symbol | undefined, descriptor?: PropertyDescriptor) => {
    if (key === undefined || typeof key === 'object')
      throw configurationError(
        '@SchedulerLock is not on a method, or not a legacy decorator, as those of Nest – put it on a method, on a class use @SchedulerLockDefaults, and set experimentalDecorators.',
      )
    if (typeof descriptor?.value !== 'function' || typeof prototype === 'function')
      throw configurationError(
        `@SchedulerLock cannot lock '${String(key)}' – put it on an instance method, not on a property, an accessor or a static method.`,
      )
    injectExecutors(prototype)
    reflect.defineMetadata(LOCK, parsed, prototype, key)
    // Change the descriptor in place, because applyDecorators ignores one that a decorator returns.
    descriptor.value = lockedMethod(descriptor.value as Method, key, parsed)
  }
}

/** Returns a function that runs the method under its lock, and that keeps the method's name, length and metadata. */
function lockedMethod(method: Method, key: PropertyKey, options: SchedulerLockOptions): Method {
  const locked: Method = async function (...args) {
    const executors = executorsOf(this, method.name)
    const { name, slot, provider, catchUp: _, ...configuration } = configurationOf(this, options)
    const lockName = typeof name === 'function' ? name.apply(this, args) : name
    const due = () =>
      slot
        ? parseDue(slot.apply(this, args), lockName)
        : slot === undefined
          ? executors.slotOf(this, key)
          : undefined
    const result = await executeJob({ ...configuration, name: lockName }, due, (call) =>
      executors.get(provider).executeWithLock(call, () => method.apply(this, args)),
    )
    return result.executed ? result.value : undefined
  }
  // Metadata is stored per function and looked up along the prototype chain, so this inherits what earlier decorators have set.
  Object.setPrototypeOf(locked, method)
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(locked, property, { value: method[property], configurable: true })
  }
  return locked
}

/** Returns the prototypes of an instance; the class itself precedes its superclasses. */
export function prototypesOf(instance: object): object[] {
  const prototype = Object.getPrototypeOf(instance) as object | null
  return prototype ? [prototype, ...prototypesOf(prototype)] : []
}

/** Returns the lock of a method; `undefined` if it has none, although it may override a method with a lock. */
export function lockOf(instance: object, key: PropertyKey): SchedulerLockOptions | undefined {
  const owner = prototypesOf(instance).find((prototype) => Object.hasOwn(prototype, key))
  return owner && (reflect.getOwnMetadata(LOCK, owner, key) as SchedulerLockOptions | undefined)
}

/** Returns a locked method's configuration for an instance: own options over defaults, with durations from functions resolved. */
export function configurationOf(instance: object, own: SchedulerLockOptions) {
  const { lockAtMostFor, lockAtLeastFor, ...options } = { ...defaultsOf(instance), ...own }
  const durationOf = (duration: SchedulerLockDefaultsOptions['lockAtMostFor']): Duration | undefined =>
    typeof duration === 'function' ? duration.call(instance) : duration
  return { ...options, lockAtMostFor: durationOf(lockAtMostFor), lockAtLeastFor: durationOf(lockAtLeastFor) }
}

/**
 * Sets defaults for each `@SchedulerLock` in this class and its subclasses. A subclass may override each of them.
 *
 * @returns a legacy decorator (`experimentalDecorators`), as those of Nest
 * @throws LockError `INVALID_CONFIGURATION` when the class is loaded, for unknown options and impossible durations
 */
export function SchedulerLockDefaults(
  defaults: Omit<SchedulerLockOptions, 'name' | 'slot' | 'catchUp'>,
): (target: abstract new (...args: never[]) => unknown) => void {
  const parsed = parseOptions(defaults, DEFAULT_OPTIONS, '@SchedulerLockDefaults options')
  return (target) => {
    const prototype = target.prototype as object
    Object.defineProperty(prototype, DEFAULTS, {
      value: { ...defaultsOf(prototype), ...parsed },
    })
  }
}

function defaultsOf(instance: object): SchedulerLockDefaultsOptions {
  return (instance as { [DEFAULTS]?: SchedulerLockDefaultsOptions })[DEFAULTS] ?? {}
}
