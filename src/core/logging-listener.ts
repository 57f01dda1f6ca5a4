import { invalid, LockError } from './errors'
import { describeRefusal } from './lock'
import type { LockEvent, LockFailureEvent, LockingTaskExecutorListener } from './listener'

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
