import { SLOT_AT_MOST_AHEAD } from '../core/internal'
import { as, nextToken, readOnlyColumn, textAs, type Expressions, type LockSql } from './expressions'
import type { SqlRow } from './session'
import { raw, sql, type Sql } from './sql'

// The steps to a lock, and the statements from which the dialects compose them.

/** The outcome of an attempt to acquire a lock. */
export type AcquireOutcome = 'acquired' | 'held' | 'already-run' | 'slot-too-far-ahead'

/**
 * One statement on the way to a lock, and what its result means:
 *
 * - `refusal` a read: a row refuses the lock with its `outcome` (`held` if it has none); no row, or `free`, decides nothing
 * - `acquired` a write: if it changed a row, the lock is acquired; otherwise it decides nothing
 * - `acquired or held` a write: if it changed no row, the lock is held
 * - `outcome` returns a row with the `outcome`; `free` if another session was faster
 */
export interface AcquireStep {
  readonly answer: 'refusal' | 'acquired' | 'acquired or held' | 'outcome'
  readonly statement: Sql
}

/** The outcome of a step; and the row of the holder, or the clock that the slot is too far ahead of, if the step read it. */
export interface StepResult {
  readonly outcome: AcquireOutcome
  readonly row?: SqlRow | undefined
}

/**
 * For databases where a read neither waits nor sets locks. An update waits for the lock of the row even if the row is held, so a
 * read comes first; and only if there is no row, an insert follows, which may fail with a duplicate key.
 */
export const readUpdateInsert = {
  acquire: (dialect: Expressions, lock: LockSql): AcquireStep[] => [
    { answer: 'refusal', statement: readHolder(dialect, lock) },
    { answer: 'acquired', statement: updateFree(dialect, lock) },
    { answer: 'refusal', statement: readHolder(dialect, lock) },
    { answer: 'acquired', statement: insertNew(lock, lock.now) },
  ],
  acquireSlot: (dialect: Expressions, lock: LockSql): AcquireStep[] => [
    { answer: 'refusal', statement: readOutcome(dialect, lock, readOnlyColumn(dialect)) },
    { answer: 'acquired', statement: updateBeforeSlot(lock) },
    { answer: 'refusal', statement: readOutcome(dialect, lock, readOnlyColumn(dialect)) },
    { answer: 'acquired', statement: insertNew(lock, lock.slot) },
  ],
}

/** Reads who holds the lock, if it is held. */
export function readHolder(dialect: Expressions, lock: LockSql): Sql {
  const { table, lockUntil, lockedBy, isNamed, now } = lock
  const until = dialect.epochMilliseconds(lockUntil)
  return sql`
    select ${textAs(dialect, lockedBy, 'owner')}, ${until} ${as(dialect, 'lock_until')}${readOnlyColumn(dialect)}
    from ${table} where ${isNamed} and ${lockUntil} > ${now}`
}

/**
 * Reads one row with the outcome for a slot. The aggregates return it even if the lock has no row yet, so a slot that is too far
 * ahead is refused in that case too. The most frequent outcomes come first, because computing the slot's time costs more than the
 * rest on some databases.
 */
export function readOutcome(dialect: Expressions, lock: LockSql, more = sql``): Sql {
  const { table, lockUntil, lockedAt, isNamed, now, slot } = lock
  return sql`
    select case when max(${lockUntil}) > ${now} then 'held'
      when max(${lockedAt}) >= ${slot} then 'already-run'
      when ${slot} > ${dialect.plus(now, raw(String(SLOT_AT_MOST_AHEAD)))} then 'slot-too-far-ahead'
      else 'free' end ${as(dialect, 'outcome')}${more}
    from ${table} where ${isNamed}`
}

// A write reads the clock again, because it may have had to wait.

/** Acquires the row if it exists and is free. */
export function updateFree(dialect: Expressions, lock: LockSql): Sql {
  const { table, lockUntil, lockedAt, lockedBy, isNamed, now, leaseEnd, owner } = lock
  return sql`
    update ${table} set ${lockUntil} = ${leaseEnd}, ${lockedAt} = ${nextToken(dialect, lockedAt)}, ${lockedBy} = ${owner}
    where ${isNamed} and ${lockUntil} <= ${now}`
}

/** Acquires the row for a slot if it exists, is free, and was last acquired before the slot. */
export function updateBeforeSlot(lock: LockSql): Sql {
  const { table, lockUntil, lockedAt, lockedBy, isNamed, now, leaseEnd, slot, owner } = lock
  return sql`
    update ${table} set ${lockUntil} = ${leaseEnd}, ${lockedAt} = ${slot}, ${lockedBy} = ${owner}
    where ${isNamed} and ${lockUntil} <= ${now} and ${lockedAt} < ${slot}`
}

/** Inserts the row; fails with a duplicate key if it exists. */
export function insertNew(lock: LockSql, locked: Sql): Sql {
  const { table, name, lockUntil, lockedAt, lockedBy, lockName, leaseEnd, owner } = lock
  return sql`
    insert into ${table} (${name}, ${lockUntil}, ${lockedAt}, ${lockedBy})
    values (${lockName}, ${leaseEnd}, ${locked}, ${owner})`
}
