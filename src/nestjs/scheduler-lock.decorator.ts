import { type Duration, invalid, withSlot } from '../core/internal'
import { executorsOf, injectExecutors, reserveExecutors } from './locking-task-executors'
import {
  checkSchedulerLockDefaults,
  checkSchedulerLockOptions,
  type ConfiguredDuration,
  type SchedulerLockDefaultsOptions,
  type SchedulerLockOptions,
} from './scheduler-lock-options'

type Method = (this: object, ...args: never[]) => unknown

const OPTIONS = Symbol.for('shedlock-orm.options')
const DEFAULTS = Symbol.for('shedlock-orm.defaults')

/** A method decorator for TypeScript's legacy decorators (`experimentalDecorators`) and for the standard ones. */
export interface SchedulerLockDecorator {
  /** As a legacy decorator. */
  <T>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<T>): void
  /**
   * As a standard decorator.
   *
   * @typeParam Locked the method
   */
  <This, Locked extends (this: This, ...args: never[]) => unknown>(
    method: Locked,
    context: ClassMethodDecoratorContext<This>,
  ): Locked
}

/**
 * Runs the method under a lock each time it is called, by `@Cron`, `@Interval`, `@Timeout` or directly, and skips it when the lock is
 * refused. The order of the decorators does not matter.
 *
 * The method returns a promise of its own value, or of `undefined` when it was skipped. With `onNotAcquired: 'throw'` the promise of a
 * skip rejects with a `LockError` `NOT_ACQUIRED` or `SHUTDOWN`. Inside the method, `activeLock()` returns the lock with its `signal`.
 *
 * @throws LockError `INVALID_CONFIGURATION` when the class is loaded, for wrong options, or on what is no instance method. A call
 *   rejects with `INVALID_CONFIGURATION` when `ShedLockModule` is not imported, and with another `LockError` when nobody knows whether
 *   the lock was acquired: the method then does not run
 */
export function SchedulerLock<This = unknown, Arguments extends unknown[] = never[]>(
  options: SchedulerLockOptions<This, Arguments>,
): SchedulerLockDecorator {
  checkSchedulerLockOptions(options as unknown as SchedulerLockOptions)
  const checked = withoutUndefined(options as unknown as SchedulerLockOptions)
  const decorate = (
    target: object,
    keyOrContext: string | symbol | undefined | ClassMethodDecoratorContext<object>,
    descriptor?: PropertyDescriptor,
  ): unknown => {
    if (typeof keyOrContext === 'object') return decorateStandard(target, keyOrContext, checked)
    decorateLegacy(target, keyOrContext, descriptor, checked)
    return undefined
  }
  return decorate as SchedulerLockDecorator
}

function decorateLegacy(
  prototype: object,
  key: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
  options: SchedulerLockOptions,
): void {
  if (key === undefined) {
    throw invalid(
      "@SchedulerLock is not on a method – put it on a method, and on a class use @SchedulerLockDefaults. (With standard decorators, Nest's applyDecorators cannot pass it on: put it on the method itself.)",
    )
  }
  if (typeof descriptor?.value !== 'function' || typeof prototype === 'function') throw notLockable(key)
  injectExecutors(prototype)
  // Changed in place, because applyDecorators drops a descriptor that a decorator returns.
  descriptor.value = lockedMethod(descriptor.value as Method, options)
}

function decorateStandard(
  method: object,
  context: ClassMethodDecoratorContext<object>,
  options: SchedulerLockOptions,
): Method {
  if ((context.kind as string) !== 'method' || context.static) throw notLockable(context.name)
  // There is no class yet that Nest could inject into; the module finds the instance by this mark.
  context.addInitializer(function () {
    reserveExecutors(this)
  })
  return lockedMethod(method as Method, options)
}

function notLockable(key: string | symbol): Error {
  return invalid(
    `@SchedulerLock cannot lock '${String(key)}' – put it on an instance method, not on a property, an accessor or a static method.`,
  )
}

/** The method under its lock. Name, length and metadata stay the method's own. */
function lockedMethod(method: Method, options: SchedulerLockOptions): Method {
  const locked: Method = async function (...args) {
    const executors = executorsOf(this, method.name)
    const { name, slot, provider, catchUp, ...configuration } = configurationOf(this, locked)
    const lockName = typeof name === 'function' ? name.apply(this, args) : name
    const due = slot ? slot.apply(this, args) : slot === false ? undefined : executors.slotOf(locked)
    const result = await executors
      .get(provider)
      .executeWithLock(withSlot({ ...configuration, name: lockName }, due), () => method.apply(this, args))
    return result.executed ? result.value : undefined
  }
  // Nest keeps metadata on the function, and looks it up along the prototypes: those set before are inherited.
  Object.setPrototypeOf(locked, method)
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(locked, property, { value: method[property], configurable: true })
  }
  return Object.defineProperty(locked, OPTIONS, { value: options })
}

export function isLocked(method: object): boolean {
  return OPTIONS in method
}

/** How a locked method is configured for an instance, now: functions are called for their durations. */
export function configurationOf(instance: object, method: object) {
  const { [OPTIONS]: own } = method as { [OPTIONS]: SchedulerLockOptions }
  const { lockAtMostFor, lockAtLeastFor, ...options } = { ...defaultsOf(instance), ...own }
  const durationOf = (duration: ConfiguredDuration | undefined): Duration | undefined =>
    typeof duration === 'function' ? duration.call(instance) : duration
  return { ...options, lockAtMostFor: durationOf(lockAtMostFor), lockAtLeastFor: durationOf(lockAtLeastFor) }
}

/**
 * Sets defaults for each `@SchedulerLock` in this class and its subclasses. A subclass may override each of them.
 *
 * @throws LockError `INVALID_CONFIGURATION` for unknown options and impossible durations, when the class is loaded
 */
export function SchedulerLockDefaults(
  defaults: SchedulerLockDefaultsOptions,
): (target: abstract new (...args: never[]) => unknown, context?: ClassDecoratorContext) => void {
  checkSchedulerLockDefaults(defaults)
  return (target) => {
    const prototype = target.prototype as object
    Object.defineProperty(prototype, DEFAULTS, {
      value: { ...defaultsOf(prototype), ...withoutUndefined(defaults) },
    })
  }
}

/** An option that is undefined leaves the default of the class, as an absent one does. */
function withoutUndefined<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}

function defaultsOf(instance: object): SchedulerLockDefaultsOptions {
  return (instance as { [DEFAULTS]?: SchedulerLockDefaultsOptions })[DEFAULTS] ?? {}
}
