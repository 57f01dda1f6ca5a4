import { channel, type Channel } from 'node:diagnostics_channel'
import type { LockError } from './errors'
import type { CheckedLockConfiguration } from './lock-configuration'

/** What every event tells: which lock, as it was configured. */
export interface LockEvent {
  readonly name: string
  readonly configuration: CheckedLockConfiguration
}

/** A task ended: its outcome, and how long it took. */
export interface TaskFinishedEvent extends LockEvent {
  /** How long the task ran, in milliseconds. */
  readonly duration: number
  readonly outcome: 'success' | 'error'
  /** What the task threw, when the outcome is `error`. */
  readonly error?: unknown
}

/** A step that the database did not do, and why. */
export interface LockFailureEvent extends LockEvent {
  /** A `LockError` with every provider of this library. */
  readonly error: unknown
}

/** A lock that can no longer be trusted while its task runs. */
export interface LockLostEvent extends LockEvent {
  /** The `LockError` `LOCK_LOST` that the task's `signal` was aborted with. */
  readonly error: LockError
}

/**
 * Hears what an executor does. Every method is optional. A listener never changes an outcome: what it throws or
 * rejects with is dropped. A task that runs inside its own lock again is only started and finished.
 *
 * The same events are published on `node:diagnostics_channel`, one channel each: `onLockAcquired` is
 * `shedlock-orm:lock-acquired`, and so on.
 */
export interface LockingTaskExecutorListener {
  /** The lock is asked for: the first event of each call that is not inside of its own lock. */
  onLockAttempt?(event: LockEvent): void
  /** The lock was had; the task runs next. */
  onLockAcquired?(event: LockEvent): void
  /** Somebody else holds the lock; the task is skipped. */
  onLockNotAcquired?(event: LockEvent): void
  /** The database could not say whether the lock is free; the task is not run and the caller gets the error. */
  onLockFailed?(event: LockFailureEvent): void
  /** The task is called. */
  onTaskStarted?(event: LockEvent): void
  /** The task returned or threw; the lock is freed afterwards. */
  onTaskFinished?(event: TaskFinishedEvent): void
  /** By the task, or because the lock is kept alive. */
  onLockExtended?(event: LockEvent): void
  /** An extension got no answer from the database. The lease before it stands; a lock that is kept alive tries again. */
  onExtendFailed?(event: LockFailureEvent): void
  /** The lease is over or an extension was refused while the task runs; its signal is aborted. */
  onLockLost?(event: LockLostEvent): void
  /** The lock could not be freed; it ends by itself after `lockAtMostFor`. The task's own outcome stands. */
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

export type EventOf<Method extends keyof LockingTaskExecutorListener> = Parameters<
  NonNullable<LockingTaskExecutorListener[Method]>
>[0]

/** Calls the same method of every listener, and lets none of them matter. */
export function notify<Method extends keyof LockingTaskExecutorListener>(
  listeners: readonly LockingTaskExecutorListener[],
  method: Method,
  event: EventOf<Method>,
): void {
  if (channels[method].hasSubscribers) channels[method].publish(event)
  for (const listener of listeners) {
    try {
      const result: unknown = listener[method]?.(event as never)
      // An async listener fits the type, so its rejection has to be taken care of as well.
      void Promise.resolve(result).catch(() => undefined)
    } catch {
      continue
    }
  }
}
