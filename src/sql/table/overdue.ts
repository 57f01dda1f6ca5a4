import { aDuration, parseLockName, optionError, type Duration } from '../../core/internal'
import { isPause, type LastRun } from '../owner'
import { foreignClock, wasAcquired, type LockRecord } from '../records'

/** A lock whose job does not run as it should, as far as its row shows. */
export interface OverdueLock {
  /** The lock's name. */
  readonly name: string
  /** How long ago the last acquisition of the lock may be, in milliseconds. */
  readonly overdueAfter: number
  /**
   * - `late` the last acquisition is longer ago, a clock that is ahead wrote its time, or the lock was never acquired
   * - `running` its run has been going on for too long
   * - `not-succeeded` its last run is not known to have succeeded; see `lastRun`
   */
  readonly reason: 'late' | 'running' | 'not-succeeded'
  /** When the lock was last acquired, or the slot that it was acquired for; absent if it never was. */
  readonly lockedAt?: Date
  /**
   * How long ago `lockedAt` was, in milliseconds by the database's clock; absent if the lock was never acquired. If it is negative,
   * a clock that is ahead wrote the time, and the true age is unknown.
   */
  readonly age?: number
  /** As in a `LockRecord`. */
  readonly lastRun?: LastRun
}

/**
 * @returns how long ago the last acquisition of each lock may be, in milliseconds, in the order of `overdueAfter`
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseOverdueAfter(
  overdueAfter: Readonly<Record<string, Duration>>,
): ReadonlyMap<string, number> {
  if (typeof overdueAfter !== 'object' || (overdueAfter as unknown) === null)
    throw optionError('overdueAfter', "an object with a duration for each lock, such as { report: '25h' }")
  return new Map(
    Object.entries(overdueAfter).map(([name, after]) => [
      parseLockName(name),
      aDuration(after, 'overdueAfter', name),
    ]),
  )
}

/** Returns why the lock is overdue, or `undefined` if it is not. */
export function overdueLock(
  name: string,
  overdueAfter: number,
  lock: LockRecord | undefined,
  {
    mustHaveSucceeded = false,
    runningAtMost = Infinity,
  }: { mustHaveSucceeded?: boolean | undefined; runningAtMost?: number | undefined } = {},
): OverdueLock | undefined {
  if (!lock) return { name, overdueAfter, reason: 'late' }
  const { lockedAt, lockedBy, now, paused, held, lastRun } = lock
  const age = now.getTime() - lockedAt.getTime()
  const runs = held && !paused && !lastRun
  const isLate = age > overdueAfter || foreignClock(lock) > 0
  const isUnsuccessful = mustHaveSucceeded && !runs && !isPause(lockedBy) && lastRun?.outcome !== 'succeeded'
  const reason = runs && age > runningAtMost ? 'running' : isLate ? 'late' : 'not-succeeded'
  if (paused || (reason === 'not-succeeded' && !isUnsuccessful)) return undefined
  if (!wasAcquired(lock)) return { name, overdueAfter, reason }
  return { name, overdueAfter, reason, lockedAt, age, ...(lastRun && { lastRun }) }
}
