import { invalid, warn, type LockError } from './errors'
import type { LockSkippedEvent } from './listener'
import type { ActiveLock, Duration, LockConfiguration, Refusal } from './lock'
import {
  checkDuration,
  checkLockConfiguration,
  checkOptions,
  type CheckedLockConfiguration,
} from './lock-configuration'

/** The outcome of a task: its value if it ran here, or why it was skipped. */
export type TaskResult<T> =
  { readonly executed: true; readonly value: T } | ({ readonly executed: false } & Refusal)

/** Options of `keepAlive`. */
export interface KeepAliveOptions {
  /**
   * For how long the lock is kept alive. Afterwards the task's signal aborts with `LOCK_LOST`, listeners hear `onLockLost`, and
   * the lock expires. Default: for as long as the task runs.
   */
  readonly atMost?: Duration | undefined
}

/** What the executor passes to a task. */
export interface TaskContext {
  /**
   * Aborts with a `LockError` when the lock can no longer be trusted, or when the executor shuts down. Pass it to `fetch`,
   * timers and queries.
   */
  readonly signal: AbortSignal
  /** The lock that the task runs under. The task can read and extend it. */
  readonly lock: ActiveLock
}

/**
 * A function that runs under a lock. What it returns or throws is passed on unchanged; the lock is held until its promise
 * settles.
 */
export type Task<T> = (context: TaskContext) => T | PromiseLike<T>

/** A lock configuration for a task, in which durations may be left to the executor's defaults. */
export interface TaskConfiguration extends Omit<LockConfiguration, 'lockAtMostFor'> {
  /** As in a lock configuration. Default: the executor's `defaultLockAtMostFor`. */
  readonly lockAtMostFor?: Duration | undefined
  /** As in a lock configuration. Default: the executor's `defaultLockAtLeastFor`, which is 0 unless you set it. */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * Whether to extend the lock whenever half of `lockAtMostFor` is over, for as long as the task runs. `lockAtMostFor` may then
   * be short (a minute, say): it is only the time after a crash until another instance may run. A task that hangs would hold its
   * lock for ever, so set a limit: `{ atMost: '2h' }`. Default `false`.
   */
  readonly keepAlive?: boolean | KeepAliveOptions | undefined
  /**
   * What to do when the task is skipped: a function to call, or `'throw'` for a `LockError` `NOT_ACQUIRED` or `SHUTDOWN`.
   * Default: the executor only returns `{ executed: false, reason }`.
   */
  readonly onNotAcquired?: 'throw' | ((event: LockSkippedEvent) => unknown) | undefined
}

/** A task configuration for `wrap`. */
export interface WrapConfiguration<This = unknown, Arguments extends unknown[] = never[]> extends Omit<
  TaskConfiguration,
  'name' | 'slot'
> {
  /** The lock's name, or a function that makes it from the arguments of a call: to have one lock for each customer, for example. */
  readonly name: string | ((this: This, ...args: Arguments) => string)
  /**
   * A function that makes the slot, the time at which the run was due, from the arguments that the scheduler passes; it returns
   * `undefined` for a call without a slot. Default: no slots.
   */
  readonly slot?: ((this: This, ...args: Arguments) => Date | number | undefined) | undefined
  /**
   * Called with every error, including those of the task. The wrapped function then never rejects, and resolves to `undefined`:
   * for hosts that crash on a rejection, such as `setInterval` and croner.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

export interface CheckedTaskConfiguration {
  readonly lockConfiguration: CheckedLockConfiguration
  /** For how many milliseconds, `Infinity` without a limit; `undefined`: not at all. */
  readonly keepAlive: number | undefined
  readonly onNotAcquired: TaskConfiguration['onNotAcquired']
}

const OPTIONS = [
  ...['name', 'lockAtMostFor', 'lockAtLeastFor', 'slot', 'untilSucceeded', 'keepAlive', 'onNotAcquired'],
] as const

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkTaskConfiguration(
  configuration: TaskConfiguration,
  defaults: Partial<TaskConfiguration>,
): CheckedTaskConfiguration {
  checkOptions(configuration, OPTIONS, 'lock configuration')
  const { name, onNotAcquired } = configuration
  const lockConfiguration = checkLockConfiguration({
    name,
    lockAtMostFor: configuration.lockAtMostFor ?? defaults.lockAtMostFor,
    lockAtLeastFor: configuration.lockAtLeastFor ?? defaults.lockAtLeastFor,
    untilSucceeded: configuration.untilSucceeded,
    ...('slot' in configuration && { slot: configuration.slot }),
  } as LockConfiguration)
  if (onNotAcquired !== undefined && onNotAcquired !== 'throw' && typeof onNotAcquired !== 'function')
    throw mustBe(name, 'onNotAcquired', "'throw' or a function")
  return { lockConfiguration, keepAlive: checkKeepAlive(name, configuration.keepAlive), onNotAcquired }
}

function checkKeepAlive(
  name: string,
  keepAlive: TaskConfiguration['keepAlive'] = false,
): CheckedTaskConfiguration['keepAlive'] {
  if (keepAlive === false) return undefined
  if (keepAlive === true) return Infinity
  if (typeof keepAlive !== 'object' || (keepAlive as unknown) === null)
    throw mustBe(name, 'keepAlive', "true, false, or an object such as { atMost: '2h' }")
  checkOptions(keepAlive, ['atMost'], `keepAlive of lock '${name}'`, name)
  if (keepAlive.atMost === undefined) return Infinity
  const atMost = checkDuration(name, 'keepAlive.atMost', keepAlive.atMost)
  if (atMost === 0) throw mustBe(name, 'keepAlive.atMost', 'a millisecond or more')
  return atMost
}

/** @throws LockError `INVALID_CONFIGURATION` before there is a lock: for the promise of a task that was called already, say */
export function checkTask(task: unknown, lockName?: string): void {
  if (typeof task === 'function') return
  throw invalid(
    'The task is not a function – pass the function itself as the second argument, not what it returns.',
    lockName,
  )
}

function mustBe(lockName: string, option: string, wanted: string): LockError {
  return invalid(`${option} of lock '${lockName}' must be ${wanted}.`, lockName)
}

/**
 * The task as a function that can be passed to a scheduler; `LockingTaskExecutor.wrap` says what it does.
 *
 * @throws LockError `INVALID_CONFIGURATION` for all that does not depend on the arguments of a call
 */
export function wrappedTask<This, Arguments extends unknown[], T>(
  execute: <T>(configuration: TaskConfiguration, task: Task<T>) => Promise<TaskResult<T>>,
  defaults: Partial<TaskConfiguration>,
  configuration: WrapConfiguration<This, Arguments>,
  task: (this: This, ...args: Arguments) => T | PromiseLike<T>,
): (this: This, ...args: Arguments) => Promise<TaskResult<T> | undefined> {
  checkOptions(configuration, [...OPTIONS, 'onError'], 'lock configuration')
  const { name, slot, onError, ...rest } = configuration
  const anyName = typeof name === 'function' ? 'made from arguments' : name
  checkTaskConfiguration({ ...rest, name: anyName, ...(slot && { slot: undefined }) }, defaults)
  if (slot !== undefined && typeof slot !== 'function')
    throw mustBe(anyName, 'slot', 'a function here, because every call has its own slot')
  if (onError !== undefined && typeof onError !== 'function') throw mustBe(anyName, 'onError', 'a function')
  checkTask(task, typeof name === 'string' ? name : undefined)
  return async function (this: This, ...args: Arguments) {
    try {
      const lockName = typeof name === 'function' ? name.apply(this, args) : name
      const slotOfCall = slot?.apply(this, args)
      const result = await execute({ ...rest, name: lockName, slot: slotOfCall }, () =>
        task.apply(this, args),
      )
      return onError ? undefined : result
    } catch (error) {
      if (!onError) throw error
      // Never to reject is what the caller asked for, even if the handler itself fails.
      try {
        await onError(error)
      } catch (failure) {
        warn(failure)
      }
      return undefined
    }
  }
}
