import { invalid } from './errors'
import type { LockSkippedEvent } from './listener'
import type { ActiveLock, Duration, LockConfiguration, Skip } from './lock'
import { LOCK_OPTIONS, lockRequest, nameOf, type LockRequest } from './lock-configuration'
import { checkOptions, mustBe, type OptionChecks } from './options'

/** The outcome of a task: its value if it ran here, or why it was skipped. */
export type TaskResult<T> =
  { readonly executed: true; readonly value: T } | ({ readonly executed: false } & Skip)

/** What the executor passes to a task. */
export interface TaskContext {
  /**
   * The `signal` of the lock: it aborts when the lock can no longer be trusted, or when the task must stop. Pass it to `fetch`,
   * timers and queries.
   */
  readonly signal: AbortSignal
  /** The lock that the task runs under, to read and to extend. */
  readonly lock: ActiveLock
}

/**
 * A function that runs under a lock. What it returns or throws is passed on unchanged. The lock is held until its promise settles.
 */
export type Task<T> = (context: TaskContext) => T | PromiseLike<T>

/** A lock configuration for a task. Durations that it does not set are the executor's defaults. */
export interface TaskConfiguration extends Omit<LockConfiguration, 'lockAtMostFor'> {
  /** As in a lock configuration. Default: the executor's `defaultLockAtMostFor`. */
  readonly lockAtMostFor?: Duration | undefined
  /** As in a lock configuration. Default: the executor's `defaultLockAtLeastFor`, which is 0 unless you set it. */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * What to do when the task is skipped: a function to call, or `'throw'` to reject with a `LockError` `NOT_ACQUIRED` or
   * `SHUTDOWN`. Default: the executor only returns `{ executed: false, reason }`.
   */
  readonly onNotAcquired?: 'throw' | ((event: LockSkippedEvent) => unknown) | undefined
}

/** A checked task configuration. */
export interface TaskRequest extends LockRequest {
  readonly onNotAcquired: TaskConfiguration['onNotAcquired']
}

/** Durations in milliseconds, for configurations that do not set them. */
export interface DefaultDurations {
  readonly lockAtMostFor?: number | undefined
  readonly lockAtLeastFor: number
}

export const TASK_OPTIONS = {
  ...LOCK_OPTIONS,
  onNotAcquired: checkOnNotAcquired,
} satisfies OptionChecks<TaskConfiguration>

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkTaskConfiguration(
  configuration: TaskConfiguration,
  defaults: DefaultDurations,
): TaskRequest {
  const checked = checkOptions(configuration, TASK_OPTIONS, 'lock configuration', nameOf(configuration))
  return { ...lockRequest({ ...defaults, ...checked }), onNotAcquired: checked.onNotAcquired }
}

function checkOnNotAcquired<Value>(value: Value, option: string, lockName?: string): Value {
  if (value === 'throw' || typeof value === 'function') return value
  throw mustBe(option, "'throw' or a function", lockName)
}

/**
 * Checks the task before a lock is acquired. @throws LockError `INVALID_CONFIGURATION`, for example for the promise that a call
 * returned
 */
export function checkTask(task: unknown, lockName?: string): void {
  if (typeof task === 'function') return
  throw invalid(
    'The task is not a function – pass the function itself as the second argument, not what it returns.',
    lockName,
  )
}

/** Returns the configuration of one call. Without a slot it drops `untilSucceeded`, because there is nothing to repeat. */
export function withSlot(
  configuration: Omit<TaskConfiguration, 'slot'>,
  slot: TaskConfiguration['slot'],
): TaskConfiguration {
  const untilSucceeded = slot === undefined ? undefined : configuration.untilSucceeded
  return { ...configuration, slot, untilSucceeded }
}
