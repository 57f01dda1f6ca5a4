import { checkDuration, checkOptions, LockError, type Duration } from '../core'
import { checkOwner } from './owner'

/** How to pause a lock. */
export interface PauseOptions {
  /** The pause ends by itself after this long. */
  readonly for: Duration
  /** For those who wonder why the job does not run. It stands in `locked_by`. */
  readonly reason: string
  /** Who pauses it. Default: the `lockedBy` of the provider, which is host and process unless you set it. */
  readonly by?: string | undefined
  /** How long to wait for a run in progress. Default: not at all. */
  readonly wait?: Duration | undefined
}

/** `locked_at` of a lock that was paused and never taken. A day late, for types that begin in 1970 in the zone of the session. */
export const NEVER = 86_400_000

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkPause(name: string, options: PauseOptions, pausedBy: string) {
  checkOptions(options, ['for', 'reason', 'by', 'wait'], 'pause options')
  const { reason, by = pausedBy, wait = 0 } = options
  const pauseFor = checkDuration(name, 'for', options.for)
  if (pauseFor === 0 || typeof reason !== 'string' || reason.trim() === '')
    throw new LockError(
      'INVALID_CONFIGURATION',
      `A pause of lock '${name}' needs for, a time after which it ends, and a reason.`,
      { lockName: name },
    )
  return {
    pauseFor,
    wait: checkDuration(name, 'wait', wait),
    lockedBy: checkOwner(`paused by ${by}: ${reason}`, 'by and reason of a pause'),
  }
}
