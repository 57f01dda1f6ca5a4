import type { Duration } from './duration'
import { LockError } from './errors'
import type { LockSkippedEvent } from './listener'
import type { ActiveLock, LockConfiguration } from './lock'
import type { Refusal } from './refusal'
import { checkLockConfiguration, checkOptions, type CheckedLockConfiguration } from './lock-configuration'

/** The outcome of a task: its value if it ran here, or why it was skipped. */
export type TaskResult<T> =
  { readonly executed: true; readonly value: T } | ({ readonly executed: false } & Refusal)

/** What a task gets to know. */
export interface TaskContext {
  /** Aborts when the lock can no longer be trusted. Pass it to `fetch`, timers and queries, so that the task stops. */
  readonly signal: AbortSignal
  /** The lock that the task runs under: to look at, and to extend. */
  readonly lock: ActiveLock
}

/** What runs under a lock. What it returns or throws is passed on as it is; the lock is held until its promise settles. */
export type Task<T> = (context: TaskContext) => T | PromiseLike<T>

/** A lock configuration for a task: it may leave durations to the executor's defaults, and says what else is wanted. */
export interface TaskConfiguration extends Omit<LockConfiguration, 'lockAtMostFor'> {
  /** As in a lock configuration. Default: the executor's `defaultLockAtMostFor`. */
  readonly lockAtMostFor?: Duration | undefined
  /** As in a lock configuration. Default: the executor's `defaultLockAtLeastFor`, which is 0 unless you set it. */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * Extends the lock at half time for as long as the task runs, so that `lockAtMostFor` may be short (a minute, say)
   * however long the task is: it is then only the time until another instance takes over from a dead holder. Default `false`.
   */
  readonly keepAlive?: boolean | undefined
  /**
   * What to do when the task is skipped: call a function, or throw a `LockError` `NOT_ACQUIRED` or `SHUTDOWN`. Default: only
   * return `{ executed: false, reason }`.
   */
  readonly onNotAcquired?: 'throw' | ((event: LockSkippedEvent) => unknown) | undefined
}

/** A task configuration for `wrap`. */
export interface WrapConfiguration<This = unknown, Arguments extends unknown[] = never[]> extends Omit<
  TaskConfiguration,
  'name' | 'slot'
> {
  /** The lock's name, or how to make it from the arguments of a call: a lock for each customer, for example. */
  readonly name: string | ((this: This, ...args: Arguments) => string)
  /**
   * When the run is due, from the arguments that the scheduler calls with; `undefined` for a call without a slot. Default: no
   * slots. `setInterval` has none: each instance counts from its own start.
   */
  readonly slot?: ((this: This, ...args: Arguments) => Date | number | undefined) | undefined
  /**
   * Receives every error, the task's own included; the returned function then never rejects: for hosts that crash on
   * a rejection, such as `setInterval` and croner. It then resolves to nothing.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

export interface CheckedTaskConfiguration {
  readonly lockConfiguration: CheckedLockConfiguration
  readonly keepAlive: boolean
  readonly onNotAcquired: TaskConfiguration['onNotAcquired']
}

const OPTIONS = ['name', 'lockAtMostFor', 'lockAtLeastFor', 'slot', 'keepAlive', 'onNotAcquired'] as const

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkTaskConfiguration(
  configuration: TaskConfiguration,
  defaults: Partial<LockConfiguration>,
): CheckedTaskConfiguration {
  checkOptions(configuration, OPTIONS, 'lock configuration')
  const { name, keepAlive = false, onNotAcquired } = configuration
  const lockConfiguration = checkLockConfiguration({
    name,
    lockAtMostFor: configuration.lockAtMostFor ?? defaults.lockAtMostFor,
    lockAtLeastFor: configuration.lockAtLeastFor ?? defaults.lockAtLeastFor,
    slot: configuration.slot,
  } as LockConfiguration)
  if (typeof keepAlive !== 'boolean') throw invalid(name, 'keepAlive', 'true or false')
  if (onNotAcquired !== undefined && onNotAcquired !== 'throw' && typeof onNotAcquired !== 'function')
    throw invalid(name, 'onNotAcquired', "'throw' or a function")
  return { lockConfiguration, keepAlive, onNotAcquired }
}

/**
 * Checks all that does not depend on the arguments of a call.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkWrapConfiguration<This, Arguments extends unknown[]>(
  configuration: WrapConfiguration<This, Arguments>,
  defaults: Partial<LockConfiguration>,
): void {
  checkOptions(configuration, [...OPTIONS, 'onError'], 'lock configuration')
  const { name, slot, onError, ...rest } = configuration
  const lockName = typeof name === 'function' ? 'made from arguments' : name
  checkTaskConfiguration({ ...rest, name: lockName }, defaults)
  if (slot !== undefined && typeof slot !== 'function')
    throw invalid(lockName, 'slot', 'a function here, because every call has another')
  if (onError !== undefined && typeof onError !== 'function') throw invalid(lockName, 'onError', 'a function')
}

/**
 * Refuses what is no function before there is a lock: a promise says that the task was called instead of given.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkTask(task: unknown): void {
  if (typeof task === 'function') return
  throw new LockError(
    'INVALID_CONFIGURATION',
    'The task is not a function – pass the function itself as the second argument, not what it returns.',
  )
}

function invalid(lockName: string, option: string, wanted: string): LockError {
  return new LockError('INVALID_CONFIGURATION', `${option} of lock '${lockName}' must be ${wanted}.`, {
    lockName,
  })
}
