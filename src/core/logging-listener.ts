import { invalid, LockError } from './errors'
import { describeRefusal } from './lock'
import type { LockEvent, LockFailureEvent, LockingTaskExecutorListener } from './listener'

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
      tell('debug', `${describeRefusal(event)} – the task was skipped`)(event)
    },
    onLockFailed: tell('error', 'could not be acquired, so the task did not run'),
    onTaskStarted: tell('debug', 'starts its task'),
    onTaskFinished: (event) => {
      const how = event.outcome === 'success' ? 'succeeded' : 'failed'
      tell('debug', `ran its task, which ${how} after ${Math.round(event.duration)} ms`)(event)
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
