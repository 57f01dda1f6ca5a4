import { channel, type Channel } from 'node:diagnostics_channel'
import { invalid, LockError } from './errors'
import { describeRefusal, type Refusal } from './lock'
import type { CheckedLockConfiguration } from './lock-configuration'

/** What every event tells: which lock, as it was configured. */
export interface LockEvent {
  readonly name: string
  readonly configuration: CheckedLockConfiguration
}

/** A task was skipped. */
export interface LockSkippedEvent extends LockEvent, Refusal {}

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
 * Is called when an executor acquires, extends, loses or releases a lock, and around its task. Every method is optional. A listener never changes an outcome: what it throws or
 * rejects with is dropped. A task that runs inside its own lock again is only started and finished.
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
  /** The database could not say whether the lock is free; the task does not run and the caller gets the error. */
  onLockFailed?(event: LockFailureEvent): void
  /** The task is called. */
  onTaskStarted?(event: LockEvent): void
  /** The task returned or threw; the lock is released afterwards. */
  onTaskFinished?(event: TaskFinishedEvent): void
  /** By the task, or because the lock is kept alive. */
  onLockExtended?(event: LockEvent): void
  /** An extension got no answer from the database. The lease before it stands; a lock that is kept alive tries again. */
  onExtendFailed?(event: LockFailureEvent): void
  /** The lease is over or an extension was refused while the task runs; its signal is aborted. */
  onLockLost?(event: LockLostEvent): void
  /** The lock could not be released; it expires after `lockAtMostFor`. The task's own outcome stands. */
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

/** Whether anybody hears of it. */
export function isHeard(
  listeners: readonly LockingTaskExecutorListener[],
  method: keyof LockingTaskExecutorListener,
): boolean {
  return channels[method].hasSubscribers || listeners.some((listener) => method in listener)
}

/** What a method of a listener is given. */
export type EventOf<Method extends keyof LockingTaskExecutorListener> = Parameters<
  NonNullable<LockingTaskExecutorListener[Method]>
>[0]

/** Calls the same method of every listener; what they throw is dropped. */
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
 * @throws LockError `INVALID_CONFIGURATION` when they are no array of objects
 */
export function checkListeners<Listener extends object>(
  listeners: readonly Listener[] | undefined,
): readonly Listener[] {
  if (listeners === undefined) return []
  const isListener = (each: unknown): boolean => typeof each === 'object' && each !== null
  const given: unknown = listeners
  if (Array.isArray(given) && given.every(isListener)) return listeners
  throw invalid('listeners must be an array of objects, each with methods such as onLockAcquired.')
}

/** What `console`, pino, winston and Nest's `Logger` have in common. */
export interface LoggerLike {
  /** The ordinary course: runs and skips. */
  debug(message: string): unknown
  /** A step that failed, or a lock that was lost. */
  warn(message: string): unknown
  /** A lock that the database did not answer for. */
  error(message: string): unknown
}

/**
 * Writes what an executor does to a logger: `listeners: [loggingListener(logger)]`. Each run and each skip is a line at
 * `debug`; an extension or an unlock that failed, and a lock that was lost, at `warn`; a lock that the database did not
 * answer for, at `error`. What the task throws is told at `debug`: who calls the task gets it.
 *
 * @throws LockError `INVALID_CONFIGURATION` for what is no logger
 */
export function loggingListener(logger: LoggerLike): Required<LockingTaskExecutorListener> {
  for (const level of ['debug', 'warn', 'error'] as const) {
    if (typeof (logger as LoggerLike | undefined)?.[level] !== 'function')
      throw invalid(
        `loggingListener got a logger without ${level}() – pass console, pino(), a winston logger or Nest's Logger.`,
      )
  }
  const tell =
    (level: keyof LoggerLike, what: string) =>
    ({ name, error }: LockEvent & Partial<LockFailureEvent>): void => {
      logger[level](`Lock '${name}' ${what}${error === undefined ? '' : `: ${messageOf(error)}`}`)
    }
  return {
    onLockAttempt: tell('debug', 'is requested'),
    onLockAcquired: tell('debug', 'was acquired'),
    onLockNotAcquired: (event) => {
      tell('debug', `${describeRefusal(event)} – the task is skipped`)(event)
    },
    onLockFailed: tell('error', 'could be neither acquired nor refused, and the task does not run'),
    onTaskStarted: tell('debug', 'has begun its task'),
    onTaskFinished: (event) => {
      const how = event.outcome === 'success' ? 'ended' : 'failed'
      tell('debug', `ran its task, which ${how} after ${Math.round(event.duration)} ms`)(event)
    },
    onLockExtended: tell('debug', 'was extended'),
    onExtendFailed: tell('warn', 'could not be extended now'),
    onLockLost: tell('warn', 'was lost while its task ran'),
    onUnlockFailed: tell('warn', 'could not be released; it expires by itself'),
  }
}

function messageOf(error: unknown): string {
  if (error instanceof LockError) return `${error.code}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
