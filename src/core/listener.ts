import { channel, type Channel } from 'node:diagnostics_channel'
import { configurationError, LockError, UNRELEASED } from './errors'
import { describeSkip, type CheckedLockConfiguration, type Skip } from './lock'
import { isObject, optionError } from './options'

/** What every event contains: the lock, and how it was configured. */
export interface LockEvent {
  /** The lock's name. */
  readonly name: string
  /** Its durations are in milliseconds. */
  readonly configuration: CheckedLockConfiguration
}

/** Reports the end of a task: its outcome, and how long it ran. */
export interface TaskFinishedEvent extends LockEvent {
  /** How long the task ran, in milliseconds. */
  readonly duration: number
  readonly outcome: 'succeeded' | 'failed'
  /** What the task threw, if it failed. */
  readonly error?: unknown
}

/** Reports the error of a failed acquisition, extension or release. */
export interface LockFailureEvent extends LockEvent {
  /** Always a `LockError` with the providers of this library. */
  readonly error: unknown
}

/**
 * Receives an event when an executor acquires, extends, loses or releases a lock, and before and after its task. Every method is
 * optional. A listener never changes an outcome: what it throws or rejects with is ignored. A task that is nested in its own lock
 * causes only `onTaskStarted` and `onTaskFinished`.
 *
 * The same events are published on `node:diagnostics_channel`, each on its own channel: `onLockAcquired` on
 * `shedlock-orm:lock-acquired`, and so on.
 */
export interface LockingTaskExecutorListener {
  /** The executor is about to try to acquire the lock. This is the first event of each call that is not nested in its own lock. */
  onLockAttempt?(event: LockEvent): void
  /** The lock was acquired; the task runs next. */
  onLockAcquired?(event: LockEvent): void
  /** The lock was not acquired, for this `reason`, and the task is skipped. */
  onLockNotAcquired?(event: LockEvent & Skip): void
  /** It is unknown whether the lock was acquired, so the task does not run, and the call rejects with the error. */
  onLockFailed?(event: LockFailureEvent): void
  /** The task is about to be called. */
  onTaskStarted?(event: LockEvent): void
  /** The task returned or threw; the lock is released next. */
  onTaskFinished?(event: TaskFinishedEvent): void
  /** The lock was extended, by the task or by `keepAlive`. */
  onLockExtended?(event: LockEvent): void
  /** An extension failed, and the lease is unchanged. With `keepAlive`, the extension is repeated. */
  onExtendFailed?(event: LockFailureEvent): void
  /**
   * While the task was running, the lease ended or an extension was refused. The task's signal has aborted with this error, a
   * `LockError` `LOCK_LOST`. Or, after `onTaskFinished`: its release found that somebody else had released the lock. If nothing listens to this
   * event, a process warning is emitted.
   */
  onLockLost?(event: LockEvent & { readonly error: LockError }): void
  /**
   * The lock could not be released yet; it expires at the end of its lease at the latest. The outcome of the task does not change. If
   * nothing listens to this event, a process warning is emitted.
   */
  onUnlockFailed?(event: LockFailureEvent): void
}

/** What each event contains besides the lock and its configuration. */
export type EventDetails = {
  readonly [Method in keyof LockingTaskExecutorListener]-?: Omit<
    Parameters<NonNullable<LockingTaskExecutorListener[Method]>>[0],
    keyof LockEvent
  >
}

/** A listener's methods, each with the event of its name. */
type Methods = {
  readonly [Method in keyof EventDetails]?: (event: LockEvent & EventDetails[Method]) => unknown
}

const channels: Readonly<Record<keyof EventDetails, Channel>> = {
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

/** Returns whether anything listens to this event. If not, a failure that changes no outcome would go unnoticed. */
export function hasListeners(
  listeners: readonly LockingTaskExecutorListener[],
  method: keyof EventDetails,
): boolean {
  return (
    channels[method].hasSubscribers || listeners.some((listener) => typeof listener[method] === 'function')
  )
}

/** Calls this method of every listener, and ignores what they throw. */
export function notify<Method extends keyof EventDetails>(
  listeners: readonly Methods[],
  method: Method,
  event: LockEvent & EventDetails[Method],
): void {
  if (channels[method].hasSubscribers) channels[method].publish(event)
  for (const listener of listeners) {
    try {
      const result = listener[method]?.(event)
      // An async listener fits the type, so handle its rejection as well.
      void Promise.resolve(result).catch(() => undefined)
    } catch {
      continue
    }
  }
}

/**
 * Returns the listeners of an option.
 *
 * @throws LockError `INVALID_CONFIGURATION` if they are not an array of objects, or a method is not a function
 */
export function parseListeners<Listener extends object>(listeners: readonly Listener[]): readonly Listener[] {
  const option: unknown = listeners
  if (!Array.isArray(option) || !option.every(isObject))
    throw configurationError(
      'listeners must be an array of objects, each with methods such as onLockAcquired.',
    )
  for (const listener of listeners as readonly Record<string, unknown>[])
    for (const method of Object.keys(channels))
      if (!['function', 'undefined'].includes(typeof listener[method]))
        throw optionError(`${method} of a listener`, 'a function')
  return listeners
}

/**
 * Creates a listener that logs what an executor does: `listeners: [loggingListener(logger)]`. It logs each run, when it has ended,
 * and each skip at `debug`; failed extensions, failed releases and lost locks at `warn`; and errors that kept a task from running at
 * `error`. It logs what a task throws only at `debug`, because the caller gets that error.
 *
 * @param logger such as `console`, pino, winston or Nest's `Logger`
 * @throws LockError `INVALID_CONFIGURATION` if the logger lacks one of the three methods
 */
export function loggingListener(
  logger: Readonly<Record<'debug' | 'warn' | 'error', (message: string) => unknown>>,
): Required<Omit<LockingTaskExecutorListener, 'onLockAttempt' | 'onLockAcquired' | 'onTaskStarted'>> {
  for (const level of ['debug', 'warn', 'error'] as const) {
    if (typeof (logger as Partial<typeof logger> | undefined)?.[level] !== 'function')
      throw configurationError(
        `loggingListener was called with a logger without ${level}() – pass console, pino(), a winston logger or Nest's Logger.`,
      )
  }
  const logAt =
    (level: keyof typeof logger, what: string) =>
    ({ name, error }: LockEvent & Partial<LockFailureEvent>): void => {
      logger[level](`Lock '${name}' ${what}${error === undefined ? '' : `: ${messageOf(error)}`}`)
    }
  return {
    onLockNotAcquired: (event) => {
      logAt('debug', `${describeSkip(event)} – the task was skipped`)(event)
    },
    onLockFailed: logAt('error', 'could not be acquired, so the task did not run'),
    onTaskFinished: (event) => {
      logAt('debug', `ran its task, which ${event.outcome} after ${Math.round(event.duration)} ms`)(event)
    },
    onLockExtended: logAt('debug', 'was extended'),
    onExtendFailed: logAt('warn', 'could not be extended; it expires when it would have before'),
    onLockLost: logAt('warn', 'was lost while its task ran'),
    onUnlockFailed: logAt('warn', UNRELEASED),
  }
}

function messageOf(error: unknown): string {
  if (error instanceof LockError) return `${error.code}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
