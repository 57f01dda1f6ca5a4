import { channel, type Channel } from 'node:diagnostics_channel'
import { invalid, LockError } from './errors'
import { describeSkip, type Skip } from './lock'
import type { CheckedLockConfiguration } from './lock-configuration'
import { mustBe } from './options'

/** What every event tells: the lock, and how it was configured. */
export interface LockEvent {
  /** The lock's name. */
  readonly name: string
  /** With durations in milliseconds. */
  readonly configuration: CheckedLockConfiguration
}

/** A task was skipped: the reason, and the holder of the lock where the provider knows it. */
export interface LockSkippedEvent extends LockEvent, Skip {}

/** A task ended: its outcome, and how long it ran. */
export interface TaskFinishedEvent extends LockEvent {
  /** How long the task ran, in milliseconds. */
  readonly duration: number
  readonly outcome: 'succeeded' | 'failed'
  /** What the task threw, when it failed. */
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
  /**
   * While the task runs, the lease is over, or an extension was refused. The task's signal has aborted. Without a listener to this
   * event: a process warning.
   */
  onLockLost?(event: LockLostEvent): void
  /**
   * The lock could not be released; it expires at the end of its lease. The task's own outcome does not change.
   * Without a listener to this event: a process warning.
   */
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

/** Whether anybody listens to this event. Otherwise a failure that changes no outcome would stay unknown. */
export function hasListeners(
  listeners: readonly LockingTaskExecutorListener[],
  method: keyof LockingTaskExecutorListener,
): boolean {
  return (
    channels[method].hasSubscribers || listeners.some((listener) => typeof listener[method] === 'function')
  )
}

/** Calls the same method of every listener; what they throw is ignored. */
export function notify<Method extends keyof LockingTaskExecutorListener>(
  listeners: readonly LockingTaskExecutorListener[],
  method: Method,
  event: Parameters<NonNullable<LockingTaskExecutorListener[Method]>>[0],
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
 * @throws LockError `INVALID_CONFIGURATION` when they are not an array of objects, or a method is no function
 */
export function checkListeners<Listener extends object>(
  listeners: readonly Listener[] | undefined,
): readonly Listener[] {
  if (listeners === undefined) return []
  const isListener = (each: unknown): boolean => typeof each === 'object' && each !== null
  const option: unknown = listeners
  if (!Array.isArray(option) || !option.every(isListener))
    throw invalid('listeners must be an array of objects, each with methods such as onLockAcquired.')
  for (const listener of listeners as readonly Record<string, unknown>[])
    for (const method of Object.keys(channels))
      if (!['function', 'undefined'].includes(typeof listener[method]))
        throw mustBe(`${method} of a listener`, 'a function')
  return listeners
}

/** What `console`, pino, winston and Nest's `Logger` have in common. */
export interface LoggerLike {
  /** Logs the ordinary course: runs and skips. */
  debug(message: string): unknown
  /** Logs an extension or an unlock that failed, and a lock that was lost. */
  warn(message: string): unknown
  /** Logs an error because of which a task did not run. */
  error(message: string): unknown
}

/**
 * Makes a listener that writes what an executor does to a logger: `listeners: [loggingListener(logger)]`. Runs and skips are
 * logged at `debug`; an extension or an unlock that failed, and a lock that was lost, at `warn`; an error because of which the
 * task did not run, at `error`. What the task throws is logged at `debug` only, because its caller gets it.
 *
 * @throws LockError `INVALID_CONFIGURATION` when the logger lacks one of the three methods
 */
export function loggingListener(logger: LoggerLike): Required<LockingTaskExecutorListener> {
  for (const level of ['debug', 'warn', 'error'] as const) {
    if (typeof (logger as LoggerLike | undefined)?.[level] !== 'function')
      throw invalid(
        `loggingListener was called with a logger without ${level}() – pass console, pino(), a winston logger or Nest's Logger.`,
      )
  }
  const tell =
    (level: keyof LoggerLike, what: string) =>
    ({ name, error }: LockEvent & Partial<LockFailureEvent>): void => {
      logger[level](`Lock '${name}' ${what}${error === undefined ? '' : `: ${messageOf(error)}`}`)
    }
  return {
    onLockAttempt: tell('debug', 'is about to be acquired'),
    onLockAcquired: tell('debug', 'was acquired'),
    onLockNotAcquired: (event) => {
      tell('debug', `${describeSkip(event)} – the task was skipped`)(event)
    },
    onLockFailed: tell('error', 'could not be acquired, so the task did not run'),
    onTaskStarted: tell('debug', 'starts its task'),
    onTaskFinished: (event) => {
      tell('debug', `ran its task, which ${event.outcome} after ${Math.round(event.duration)} ms`)(event)
    },
    onLockExtended: tell('debug', 'was extended'),
    onExtendFailed: tell('warn', 'could not be extended, and lasts as long as before'),
    onLockLost: tell('warn', 'was lost while its task ran'),
    onUnlockFailed: tell('warn', 'could not be released; it expires at the end of its lease'),
  }
}

function messageOf(error: unknown): string {
  if (error instanceof LockError) return `${error.code}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
