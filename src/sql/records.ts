import {
  checkDuration,
  checkLockName,
  checkOptions,
  invalid,
  isPause,
  SLOT_AT_MOST_AHEAD,
  type Duration,
  type LockHolder,
} from '../core'
import { checkOwner, isOurs, lastRunOf, readableOwner, type LastRun } from './owner'
import type { Row } from './statement'

// What a row tells.

/** A row of the lock table. All times are the database's. */
export interface LockRecord {
  readonly name: string
  /** Whether the lock is held at `now`; if not, `lockedBy` tells who had it last. */
  readonly held: boolean
  /** Whether it is held by a pause, whose `lockedBy` says who paused it and why. */
  readonly paused: boolean
  /** The owner: host, process and a random part, unless configured otherwise. */
  readonly lockedBy: string
  /** When it was last acquired: a pause does not count. The beginning of 1970 for a lock that was paused and never acquired. */
  readonly lockedAt: Date
  /** The end of the year 9999 for a row that is held for ever, such as one with `infinity` or null. */
  readonly lockUntil: Date
  /** When this was read. */
  readonly now: Date
  /**
   * How the last run ended; absent while one goes on, before the first, after a pause, and if another program acquired the lock
   * last: Java's ShedLock does not tell.
   */
  readonly lastRun?: LastRun
}

/** The last millisecond of the calendar that all databases have. */
export const LAST_TIME = Date.UTC(10_000, 0) - 1
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
 * How far, in milliseconds, `lockedAt` lies ahead of the database's clock, if that is further than the slots that are given: then
 * another clock or another time zone wrote it. Else 0.
 */
export function foreignClock({ lockedBy, lockedAt, now }: LockRecord): number {
  const ahead = lockedAt.getTime() - now.getTime()
  return ahead > (isOurs(lockedBy) ? SLOT_AT_MOST_AHEAD : OTHERS_AT_MOST_AHEAD) ? ahead : 0
}

/** What else makes a lock overdue. */
export interface OverdueOptions {
  /**
   * Also locks whose last run is not known to have succeeded: it failed, died, was unlocked without an outcome, or is another
   * program's. The row knows the last run alone. Not while a run goes on, and not after a pause, which forgets it. Default `false`.
   */
  readonly succeeded?: boolean | undefined
  /** Also locks of runs that go on for longer than this; with a slot it counts from when they were due. Default: no limit. */
  readonly runningAtMost?: Duration | undefined
}

/** A lock whose job does not run as it should, as far as its row tells. */
export interface OverdueLock {
  readonly name: string
  /** How long ago it was to be acquired at the latest, in milliseconds. */
  readonly limit: number
  /**
   * - `late` it was acquired longer ago, or never, or by a clock that is ahead
   * - `running` its run goes on for too long
   * - `not-succeeded` its last run is not known to have succeeded; `lastRun` tells more
   */
  readonly reason: 'late' | 'running' | 'not-succeeded'
  /** When it was last acquired; `undefined`: never. */
  readonly lockedAt?: Date
  /**
   * How long ago that was, in milliseconds by the database's clock; `undefined`: never. Less than 0: a clock that is ahead wrote
   * the time, so that nobody knows.
   */
  readonly age?: number
  /** As in a `LockRecord`. */
  readonly lastRun?: LastRun
}

/**
 * @returns how long ago each lock was to be acquired at the latest, in milliseconds, in the order of `limits`
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

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkPause(name: string, options: PauseOptions, pausedBy: string) {
  checkOptions(options, ['for', 'reason', 'by', 'wait'], 'pause options')
  const { reason, by = pausedBy, wait = 0 } = options
  const pauseFor = checkDuration(name, 'for', options.for)
  if (pauseFor === 0 || typeof reason !== 'string' || reason.trim() === '')
    throw invalid(`A pause of lock '${name}' needs for, a time after which it ends, and a reason.`, name)
  return {
    pauseFor,
    wait: checkDuration(name, 'wait', wait),
    lockedBy: checkOwner(`paused by ${by}: ${reason}`, 'by and reason of a pause'),
  }
}
