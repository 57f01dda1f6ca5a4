import {
  checkDuration,
  checkLockName,
  isPause,
  LAST_TIME,
  SLOT_AT_MOST_AHEAD,
  type Duration,
  type LockHolder,
} from '../core'
import { isOurs, lastRunOf, readableOwner, type LastRun } from './owner'
import type { Row } from './statement'

// What a row tells.

/** A lock as its row tells it. All times are of the database's clock. */
export interface LockRecord {
  /** The lock's name. */
  readonly name: string
  /** Whether somebody holds the lock at `now`. If not, `lockedBy` tells who held it last. */
  readonly held: boolean
  /** Whether the lock is held by a pause; `lockedBy` then says who paused it and why. */
  readonly paused: boolean
  /** The owner: host, process and a random part, unless configured otherwise. After a release, how the run ended. */
  readonly lockedBy: string
  /**
   * When the lock was last acquired, or the slot for which it was. A pause does not count: for a lock that was paused but never
   * acquired this is the beginning of 1970.
   */
  readonly lockedAt: Date
  /** When the lease ends, or ended. The end of the year 9999 for a row that is held for ever, such as one with `infinity` or null. */
  readonly lockUntil: Date
  /** When the row was read. */
  readonly now: Date
  /**
   * How the last run ended. Absent while a run goes on, before the first run, after a pause, and if another program acquired the
   * lock last, such as Java's ShedLock, which does not tell.
   */
  readonly lastRun?: LastRun
}

/** `locked_at` of a lock that was paused and never acquired. A day late, for types that begin in 1970 in the zone of the session. */
export const NEVER = 86_400_000
/** In milliseconds. What is not ours may use a clock of its own, which is rarely exact. */
const OTHERS_AT_MOST_AHEAD = 5_000

/** @param row as `readRows` names its columns; drivers give whole numbers as number, bigint or text */
export function lockRecord(row: Row): LockRecord {
  const held = Number(row['is_held']) === 1
  const owner: unknown = row['owner'] ?? ''
  const lockedBy = String(owner)
  const lockUntil = held ? endOfHeld(row['lock_until']) : time(row['lock_until'])
  const read = time(row['now'])
  // A statement may read the clock twice: what was seen free had come to its end.
  const now = !held && lockUntil > read ? lockUntil : read
  const lastRun = lastRunOf(lockedBy, held, lockUntil, now)
  return {
    name: String(row['lock_name']),
    held,
    paused: held && isPause(lockedBy),
    lockedBy,
    lockedAt: time(row['locked_at']),
    lockUntil,
    now,
    ...(lastRun && { lastRun }),
  }
}

/** @param row as `refusal` names its columns; other rows tell nothing of the holder */
export function lockHolder({ owner, lock_until: until }: Row): LockHolder | undefined {
  if (typeof owner !== 'string') return undefined
  return { lockedBy: readableOwner(owner), lockUntil: endOfHeld(until) }
}

/** What is held until no time is held for ever: null is neither past nor future, and words come after all digits. */
function endOfHeld(value: unknown): Date {
  const until = time(value)
  return until.getTime() > 0 ? until : new Date(LAST_TIME)
}

function time(value: unknown): Date {
  return new Date(Number(value))
}

/** Its lease never ends. */
export function isHeldForEver({ held, lockUntil }: LockRecord): boolean {
  return held && lockUntil.getTime() >= LAST_TIME
}

/** A row may be there because the lock was paused. */
export function wasAcquired({ lockedAt }: LockRecord): boolean {
  return lockedAt.getTime() > NEVER
}

/**
 * How far, in milliseconds, `lockedAt` lies ahead of the database's clock, if that is further than any slot for which a lock is
 * acquired: then another clock or another time zone wrote it. Otherwise 0.
 */
export function foreignClock({ lockedBy, lockedAt, now }: LockRecord): number {
  const ahead = lockedAt.getTime() - now.getTime()
  return ahead > (isOurs(lockedBy) ? SLOT_AT_MOST_AHEAD : OTHERS_AT_MOST_AHEAD) ? ahead : 0
}

/** What else makes a lock overdue. */
export interface OverdueOptions {
  /**
   * Whether a lock is also overdue if its last run is not known to have succeeded: it failed, died, was unlocked without an outcome,
   * or was another program's. Only the last run counts, because the row knows no other; it does not count while the next run goes on,
   * nor after a pause, which overwrites it. Default `false`.
   */
  readonly succeeded?: boolean | undefined
  /** A lock is also overdue if its run goes on for longer than this, or, with a slot, was due longer ago. Default: no limit. */
  readonly runningAtMost?: Duration | undefined
}

/** A lock whose job does not run as it should, as far as its row tells. */
export interface OverdueLock {
  /** The lock's name. */
  readonly name: string
  /** How long ago the lock may have been acquired last, in milliseconds. */
  readonly limit: number
  /**
   * - `late` it was acquired longer ago, or never, or by a clock that is ahead
   * - `running` its run goes on for too long
   * - `not-succeeded` its last run is not known to have succeeded; `lastRun` tells more
   */
  readonly reason: 'late' | 'running' | 'not-succeeded'
  /** When the lock was last acquired, or the slot for which it was; absent if it never was. */
  readonly lockedAt?: Date
  /**
   * How long ago `lockedAt` was, in milliseconds by the database's clock; absent if the lock was never acquired. Less than 0: a clock
   * that is ahead wrote the time, so nobody knows how long ago it was.
   */
  readonly age?: number
  /** As in a `LockRecord`. */
  readonly lastRun?: LastRun
}

/**
 * @returns how long ago each lock may have been acquired last, in milliseconds, in the order of `limits`
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkLimits(limits: Readonly<Record<string, Duration>>): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(limits).map(([name, limit]) => [
      checkLockName(name),
      checkDuration(name, 'the limit', limit),
    ]),
  )
}

/** @returns `undefined` if it is not overdue */
export function overdueLock(
  name: string,
  limit: number,
  lock: LockRecord | undefined,
  { succeeded = false, runningAtMost = Infinity }: { succeeded?: boolean; runningAtMost?: number } = {},
): OverdueLock | undefined {
  if (!lock) return { name, limit, reason: 'late' }
  const { lockedAt, lockedBy, now, paused, held, lastRun } = lock
  const age = now.getTime() - lockedAt.getTime()
  const runs = held && !paused && !lastRun
  const isLate = age > limit || foreignClock(lock) > 0
  const isUnsuccessful = succeeded && !runs && !isPause(lockedBy) && lastRun?.outcome !== 'succeeded'
  const reason = runs && age > runningAtMost ? 'running' : isLate ? 'late' : 'not-succeeded'
  if (paused || (reason === 'not-succeeded' && !isUnsuccessful)) return undefined
  if (!wasAcquired(lock)) return { name, limit, reason }
  return { name, limit, reason, lockedAt, age, ...(lastRun && { lastRun }) }
}
