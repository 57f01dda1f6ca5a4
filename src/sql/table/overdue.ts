import {
  aDuration,
  isTemporal,
  missedAt,
  parseJob,
  parseLockName,
  optionError,
  type Duration,
  type Job,
  type KnownJob,
} from '../../core/internal'
import { isPause, LOST, type LastRun } from '../owner'
import { foreignClock, wasAcquired, type LockRecord } from '../records'

/** A lock whose job does not run as it should, as far as its row shows. */
export interface OverdueLock {
  /** The lock's name. */
  readonly name: string
  /** How long ago the last acquisition of the lock may be, in milliseconds; absent for a job that is known by its due times. */
  readonly overdueAfter?: number
  /** When the job was due and nobody ran it, for `missed`. */
  readonly missedAt?: Date
  /**
   * - `missed` the job was due more than a minute ago, its lock was free, and nobody acquired it
   * - `late` the last acquisition is longer ago, a clock that is ahead wrote its time, or the lock was never acquired
   * - `running` its run has been going on for too long
   * - `not-succeeded` its last run is not known to have succeeded, or outlived its lease; see `lastRun`
   */
  readonly reason: 'missed' | 'late' | 'running' | 'not-succeeded'
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
 * @returns for each lock how long ago its last acquisition may be, in milliseconds, or when its job is due, in the order of `expected`
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseExpected(
  expected: Readonly<Record<string, Duration | Job>>,
): ReadonlyMap<string, number | KnownJob> {
  if (typeof expected !== 'object' || (expected as unknown) === null)
    throw optionError(
      'overdueAfter',
      "an object with a duration or a job for each lock, such as { report: '25h' }",
    )
  return new Map(
    Object.entries(expected).map(([name, each]) => [
      parseLockName(name),
      typeof each === 'object' && !isTemporal(each)
        ? parseJob(each, name)
        : aDuration(each, 'overdueAfter', name),
    ]),
  )
}

/** Returns why the lock is overdue, or `undefined` if it is not. @param expected as `parseExpected` returns it */
export function overdueLock(
  name: string,
  expected: number | KnownJob,
  lock: LockRecord | undefined,
  {
    mustHaveSucceeded = false,
    runningAtMost = Infinity,
  }: { mustHaveSucceeded?: boolean | undefined; runningAtMost?: number | undefined } = {},
): OverdueLock | undefined {
  const [overdueAfter, job] = typeof expected === 'number' ? [expected, {}] : [undefined, expected]
  const found = (reason: OverdueLock['reason'], more: Partial<OverdueLock> = {}): OverdueLock => ({
    ...{ name, ...(overdueAfter !== undefined && { overdueAfter }), reason, ...more },
    ...(lock && lastAcquisition(lock)),
  })
  const missed = missedAt(job, lock)
  if (missed !== undefined) return found('missed', { missedAt: new Date(missed) })
  if (!lock) return overdueAfter === undefined ? undefined : found('late')
  const { lockedAt, lockedBy, now, paused, held, lastRun } = lock
  const age = now.getTime() - lockedAt.getTime()
  const runs = held && !paused && !lastRun
  if (paused) return undefined
  if (runs && age > runningAtMost) return found('running')
  if (age > (overdueAfter ?? Infinity) || foreignClock(lock) > 0) return found('late')
  const succeeded = lastRun?.outcome === 'succeeded' && lastRun.error !== LOST
  return mustHaveSucceeded && !runs && !isPause(lockedBy) && !succeeded ? found('not-succeeded') : undefined
}

/** When the lock was acquired last, as far as its row shows. */
function lastAcquisition(lock: LockRecord): Pick<OverdueLock, 'lockedAt' | 'age' | 'lastRun'> {
  if (!wasAcquired(lock)) return {}
  const { lockedAt, now, lastRun } = lock
  return { lockedAt, age: now.getTime() - lockedAt.getTime(), ...(lastRun && { lastRun }) }
}
