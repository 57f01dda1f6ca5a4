import {
  aBoolean,
  aDuration,
  checkDuration,
  checkLockName,
  isPause,
  LAST_TIME,
  mustBe,
  SLOT_AT_MOST_AHEAD,
  type Duration,
  type LockHolder,
  type OptionChecks,
} from '../core/internal'
import type { SqlRow } from './sql-executor'
import { isOurs, lastRunOf, readableOwner, type LastRun } from './owner'

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
export const OTHERS_AT_MOST_AHEAD = 5_000

/** @param rows as `readRows` names their columns; one without a name only says what its server is */
export function lockRecords(rows: readonly SqlRow[]): LockRecord[] {
  return rows.filter((row) => readText(row, 'lock_name') !== undefined).map(lockRecord)
}

/** Drivers give whole numbers as number, bigint or text. */
function lockRecord(row: SqlRow): LockRecord {
  const held = Number(row['is_held']) === 1
  const lockedBy = readText(row, 'owner') ?? ''
  const lockUntil = held ? endOfHeld(row['lock_until']) : time(row['lock_until'])
  const read = time(row['now'])
  // A statement may read the clock twice: what was seen free had come to its end.
  const now = !held && lockUntil > read ? lockUntil : read
  const lastRun = lastRunOf(lockedBy, held, lockUntil, now)
  return {
    name: readText(row, 'lock_name') ?? '',
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
export function lockHolder(row: SqlRow): LockHolder | undefined {
  const owner = readText(row, 'owner')
  return owner === undefined
    ? undefined
    : { lockedBy: readableOwner(owner), lockUntil: endOfHeld(row['lock_until']) }
}

/** @param column as `textAs` was given it; `undefined` if the row has no text there */
function readText(row: SqlRow, column: string): string | undefined {
  const [text, hex] = [row[column], row[`${column}_hex`]]
  if (typeof hex === 'string') return Buffer.from(hex, 'hex').toString()
  return typeof text === 'string' ? text : undefined
}

/** What is held until no time is held for ever: null is neither past nor future, and words come after all digits. */
function endOfHeld(value: unknown): Date {
  const until = time(value)
  return until.getTime() > 0 ? until : new Date(LAST_TIME)
}

function time(value: unknown): Date {
  return new Date(Number(value))
}

/**
 * The holder of the lock, or the last one, as people want to read it. Empty for a free lock that was paused last: a pause overwrites
 * the holder before it, and nobody is paused any more.
 */
export function displayedOwner({ held, lockedBy }: LockRecord): string {
  return !held && isPause(lockedBy) ? '' : readableOwner(lockedBy)
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
  readonly mustHaveSucceeded?: boolean | undefined
  /** A lock is also overdue if its run goes on for longer than this, or, with a slot, was due longer ago. Default: no limit. */
  readonly runningAtMost?: Duration | undefined
}

export const OVERDUE_OPTIONS = {
  mustHaveSucceeded: aBoolean,
  runningAtMost: aDuration,
} satisfies OptionChecks<OverdueOptions>

/** A lock whose job does not run as it should, as far as its row tells. */
export interface OverdueLock {
  /** The lock's name. */
  readonly name: string
  /** How long ago the lock may have been acquired last, in milliseconds. */
  readonly overdueAfter: number
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
 * @returns how long ago each lock may have been acquired last, in milliseconds, in the order of `overdueAfter`
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkOverdueAfter(
  overdueAfter: Readonly<Record<string, Duration>>,
): ReadonlyMap<string, number> {
  if (typeof overdueAfter !== 'object' || (overdueAfter as unknown) === null)
    throw mustBe('overdueAfter', "an object with a duration for each lock, such as { report: '25h' }")
  return new Map(
    Object.entries(overdueAfter).map(([name, after]) => [
      checkLockName(name),
      checkDuration(name, 'overdueAfter', after),
    ]),
  )
}

/** @returns `undefined` if it is not overdue */
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
