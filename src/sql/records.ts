import { LAST_TIME, NEVER_ACQUIRED, SLOT_AT_MOST_AHEAD, type Skip } from '../core/internal'
import { checkColumn } from './database-errors'
import { isPause, lastRunOf, readableOwner, type LastRun } from './owner'
import { COLUMN, readFlag, readText, readTime } from './results'
import type { SqlRow } from './session'

// How to read a row of the lock table.

/** A lock as its row records it. All times are those of the database's clock. */
export interface LockRecord {
  /** The lock's name. */
  readonly name: string
  /** Whether the lock is held at `now`. If not, `lockedBy` is its last holder. */
  readonly held: boolean
  /** Whether the lock is held by a pause; `lockedBy` is then who paused it and why. */
  readonly paused: boolean
  /** The owner: host, process and a random part, unless configured otherwise. After a release, it contains how the run ended. */
  readonly lockedBy: string
  /**
   * When the lock was last acquired, or the slot that it was acquired for. A pause does not count: for a lock that was paused but
   * never acquired, this is the beginning of 1970.
   */
  readonly lockedAt: Date
  /** When the lease ends, or ended. The end of the year 9999 if the row is held for ever, such as one with `infinity` or null. */
  readonly lockUntil: Date
  /** When the row was read. */
  readonly now: Date
  /**
   * How the last run ended. Absent during a run, before the first run, after a pause, and if another program acquired the lock
   * last, such as Java's ShedLock, which does not record it.
   */
  readonly lastRun?: LastRun
}

/** Reads rows with the columns of `readRows`. Ignores a row without a name, which only reports whether its server is a standby. */
export function lockRecords(rows: readonly SqlRow[]): LockRecord[] {
  checkColumn(COLUMN.isHeld, rows)
  return rows.filter((row) => readText(row, COLUMN.lockName) !== undefined).map(lockRecord)
}

/** Reads one row. A row may have a value that is not a time, which is null here. */
function lockRecord(row: SqlRow): LockRecord {
  const held = readFlag(row, COLUMN.isHeld) === true
  const lockedBy = readText(row, COLUMN.owner) ?? ''
  const lockUntil = held ? endOfHeld(row) : readTime(row, COLUMN.lockUntil, 0)
  const read = readTime(row, COLUMN.now)
  // The statement may read the clock twice, so `now` can be a moment before the end of a lease that is over.
  const now = !held && lockUntil > read ? lockUntil : read
  const lastRun = lastRunOf(lockedBy, held, lockUntil, now)
  return {
    name: readText(row, COLUMN.lockName) ?? '',
    held,
    paused: held && isPause(lockedBy),
    lockedBy,
    lockedAt: readTime(row, COLUMN.lockedAt, 0),
    lockUntil,
    now,
    ...(lastRun && { lastRun }),
  }
}

/** Reads the holder from a row with the columns of `refusal`; other rows contain none. */
export function lockHolder(row: SqlRow): Skip['holder'] {
  const owner = readText(row, COLUMN.owner)
  return owner === undefined ? undefined : { lockedBy: readableOwner(owner), lockUntil: endOfHeld(row) }
}

/**
 * Reads the end of a current lease. A value that is not a time never comes, because null is neither past nor future, and words sort
 * after digits.
 */
function endOfHeld(row: SqlRow): Date {
  const until = readTime(row, COLUMN.lockUntil, 0)
  return until.getTime() > 0 ? until : new Date(LAST_TIME)
}

/** Returns the holder of the lock, or the last one, for people to read. A pause that is over has overwritten the holder before it. */
export function displayedOwner({ held, lockedBy }: LockRecord): string {
  return `${!held && isPause(lockedBy) ? 'was ' : ''}${readableOwner(lockedBy)}`
}

/** Returns whether the lease never ends. */
export function isHeldForEver({ held, lockUntil }: LockRecord): boolean {
  return held && lockUntil.getTime() >= LAST_TIME
}

/** Returns whether the lock was ever acquired. Its row may exist only because of a pause. */
export function wasAcquired({ lockedAt }: LockRecord): boolean {
  return lockedAt.getTime() > NEVER_ACQUIRED
}

/**
 * Returns how many milliseconds `lockedAt` lies ahead of the database's clock, if that is further than any slot may lie, because
 * another clock or another time zone wrote it. Otherwise 0.
 */
export function foreignClock({ lockedAt, now }: LockRecord): number {
  const ahead = lockedAt.getTime() - now.getTime()
  return ahead > SLOT_AT_MOST_AHEAD ? ahead : 0
}
