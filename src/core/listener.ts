import { channel, type Channel } from 'node:diagnostics_channel'
import { invalid, type LockError } from './errors'
import type { Refusal } from './lock'
import type { CheckedLockConfiguration } from './lock-configuration'

/** What every event tells: the lock, and how it was configured. */
export interface LockEvent {
  /** The lock's name. */
  readonly name: string
  /** With durations in milliseconds. */
  readonly configuration: CheckedLockConfiguration
}

/** A task was skipped: the reason, and the holder of the lock where the provider knows it. */
export interface LockSkippedEvent extends LockEvent, Refusal {}

/** A task ended: its outcome, and how long it ran. */
export interface TaskFinishedEvent extends LockEvent {
  /** How long the task ran, in milliseconds. */
  readonly duration: number
  readonly outcome: 'success' | 'error'
  /** What the task threw, when the outcome is `error`. */
  readonly error?: unknown
}

/** A step (acquire, extend, release) failed: the error. */
export interface LockFailureEvent extends LockEvent {
  /** A `LockError` with every provider of this library. */
  readonly error: unknown
}

/** A lock can no longer be trusted while its task still runs. */
export interface LockLostEvent extends LockEvent {
  /** The `LockError` `LOCK_LOST` with which the task's `signal` was aborted. */
  readonly error: LockError
}

/**
 * Called when an executor acquires, extends, loses or releases a lock, and before and after its task. Every method is optional.
 * A listener never changes an outcome: what it throws or rejects with is ignored. A task that runs again under its own lock
 * causes `onTaskStarted` and `onTaskFinished` only.
 *
 * The same events are published on `node:diagnostics_channel`, one channel each: `onLockAcquired` is
 * `shedlock-orm:lock-acquired`, and so on.
 */
export interface LockingTaskExecutorListener {
  /** The executor is about to acquire the lock: the first event of each call that is not inside its own lock. */
  onLockAttempt?(event: LockEvent): void
  /** The lock was acquired; the task runs next. */
  onLockAcquired?(event: LockEvent): void
  /** The lock was not acquired; the task is skipped, and `reason` says why. */
  onLockNotAcquired?(event: LockSkippedEvent): void
  /** Nobody knows whether the lock was acquired: the task does not run, and the caller gets the error. */
  onLockFailed?(event: LockFailureEvent): void
  /** The task is about to be called. */
  onTaskStarted?(event: LockEvent): void
  /** The task returned or threw; the lock is released next. */
  onTaskFinished?(event: TaskFinishedEvent): void
  /** The lock was extended, by the task or because it is kept alive. */
  onLockExtended?(event: LockEvent): void
  /** An extension failed: the lease is as before it. If the lock is kept alive, the extension is repeated. */
  onExtendFailed?(event: LockFailureEvent): void
  /** While the task runs, the lease is over, or an extension was refused. The task's signal has aborted. */
  onLockLost?(event: LockLostEvent): void
  /** The lock could not be released; it expires at the end of its lease. The task's own outcome does not change. */
  onUnlockFailed?(event: LockFailureEvent): void
}

const channels: Readonly<Record<keyof LockingTaskExecutorListener, Channel>> = {
  onLockAttempt: channel('shedlock-orm:lock-attempt'),
  onLockAcquired: channel('shedlock-orm:lock-acquired'),
  onLockNotAcquired: channel('shedlock-orm:lock-not-acquired'),
  onLockFailed: channel('shedlock-orm:lock-failed'),
  onTaskStarted: channel('shedlock-orm:task-started'),
  onTaskFinished: channel('shedlock-orm:task-finished'),
  onLockExtended: channel('shedlock-orm:lock-extended'),
  onExtendFailed: channel('shedlock-orm:extend-failed'),
  onLockLost: channel('shedlock-orm:lock-lost'),
  onUnlockFailed: channel('shedlock-orm:unlock-failed'),
}

/** Whether anybody listens to this event. */
export function isHeard(
  listeners: readonly LockingTaskExecutorListener[],
  method: keyof LockingTaskExecutorListener,
): boolean {
  return channels[method].hasSubscribers || listeners.some((listener) => method in listener)
}

/** The event that a method of a listener gets. */
export type EventOf<Method extends keyof LockingTaskExecutorListener> = Parameters<
  NonNullable<LockingTaskExecutorListener[Method]>
>[0]

/** Calls the same method of every listener; what they throw is ignored. */
export function notify<Method extends keyof LockingTaskExecutorListener>(
  listeners: readonly LockingTaskExecutorListener[],
  method: Method,
  event: EventOf<Method>,
): void {
  if (channels[method].hasSubscribers) channels[method].publish(event)
  for (const listener of listeners) {
    try {
      const result: unknown = listener[method]?.(event as never)
      // An async listener fits the type, so its rejection is handled as well.
      void Promise.resolve(result).catch(() => undefined)
    } catch {
      continue
    }
  }
}

/**
 * The listeners of an option, or none.
 *
 * @throws LockError `INVALID_CONFIGURATION` when they are not an array of objects
 */
export function checkListeners<Listener extends object>(
  listeners: readonly Listener[] | undefined,
): readonly Listener[] {
  if (listeners === undefined) return []
  const isListener = (each: unknown): boolean => typeof each === 'object' && each !== null
  const option: unknown = listeners
  if (Array.isArray(option) && option.every(isListener)) return listeners
  throw invalid('listeners must be an array of objects, each with methods such as onLockAcquired.')
}
