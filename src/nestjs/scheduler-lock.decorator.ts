import { type Duration, executeJob, invalid } from '../core/internal'
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
  /** Decorates a method as a legacy decorator. */
  <T>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<T>): void
  /**
   * Decorates a method as a standard decorator.
   *
   * @typeParam Locked the method
   */
  <This, Locked extends (this: This, ...args: never[]) => unknown>(
    method: Locked,
    context: ClassMethodDecoratorContext<This>,
  ): Locked
}

/**
 * Runs the method under a lock each time it is called by `@Cron`, `@Interval`, `@Timeout` or your code, and skips it if the lock is
 * refused. The order of the decorators does not matter.
 *
 * The method returns a promise of its own value, or of `undefined` if it was skipped. With `onSkip: 'throw'`, a skipped call
 * rejects with a `LockError` `SKIPPED` or `SHUTDOWN`. Inside the method, `activeLock()` returns the lock with its `signal`.
 *
 * @throws LockError `INVALID_CONFIGURATION` when the class is loaded, for wrong options or anything but an instance method. A call
 *   rejects with `INVALID_CONFIGURATION` if `ShedLockModule` is not imported, and with another `LockError` if it is unknown whether
 *   the lock was acquired: the method then does not run
 */
export function SchedulerLock<This = unknown, Arguments extends unknown[] = never[]>(
  options: SchedulerLockOptions<This, Arguments>,
): SchedulerLockDecorator {
  const checked = checkSchedulerLockOptions(options as unknown as SchedulerLockOptions)
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
  // Change the descriptor in place, because applyDecorators ignores one that a decorator returns.
  descriptor.value = lockedMethod(descriptor.value as Method, options)
}

function decorateStandard(
  method: object,
  context: ClassMethodDecoratorContext<object>,
  options: SchedulerLockOptions,
): Method {
  if ((context.kind as string) !== 'method' || context.static) throw notLockable(context.name)
  // The class does not exist yet, so nothing can be injected into it. Mark each instance instead, so that the module finds it.
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

/** Returns a function that runs the method under its lock, and that keeps the method's name, length and metadata. */
function lockedMethod(method: Method, options: SchedulerLockOptions): Method {
  const locked: Method = async function (...args) {
    const executors = executorsOf(this, method.name)
    const { name, slot, provider, catchUp, ...configuration } = configurationOf(this, locked)
    const lockName = typeof name === 'function' ? name.apply(this, args) : name
    const due = slot ? slot.apply(this, args) : slot === false ? undefined : executors.slotOf(locked)
    const result = await executeJob({ ...configuration, name: lockName, slot: due }, (call) =>
      executors.get(provider).executeWithLock(call, () => method.apply(this, args)),
    )
    return result.executed ? result.value : undefined
  }
  // Metadata is stored per function and looked up along the prototype chain, so this inherits what earlier decorators have set.
  Object.setPrototypeOf(locked, method)
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(locked, property, { value: method[property], configurable: true })
  }
  return Object.defineProperty(locked, OPTIONS, { value: options })
}

export function isLocked(method: object): boolean {
  return OPTIONS in method
}

/** Returns a locked method's configuration for an instance: own options over defaults, with durations from functions resolved. */
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
 * @throws LockError `INVALID_CONFIGURATION` when the class is loaded, for unknown options and impossible durations
 */
export function SchedulerLockDefaults(
  defaults: SchedulerLockDefaultsOptions,
): (target: abstract new (...args: never[]) => unknown, context?: ClassDecoratorContext) => void {
  const checked = checkSchedulerLockDefaults(defaults)
  return (target) => {
    const prototype = target.prototype as object
    Object.defineProperty(prototype, DEFAULTS, {
      value: { ...defaultsOf(prototype), ...checked },
    })
  }
}

function defaultsOf(instance: object): SchedulerLockDefaultsOptions {
  return (instance as { [DEFAULTS]?: SchedulerLockDefaultsOptions })[DEFAULTS] ?? {}
}
