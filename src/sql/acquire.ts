import { SLOT_AT_MOST_AHEAD } from '../core/internal'
import {
  as,
  columns,
  later,
  nextToken,
  sessionColumns,
  textAs,
  updateLock,
  type LockSql,
  type Update,
} from './expressions'
import { COLUMN } from './results'
import { raw, sql, type Sql } from './sql'

// The steps to a lock, and the pin of a guard: the statements from which the dialects compose them.

/**
 * One statement on the way to a lock, and what its result means:
 *
 * - `refusal` a read: a row refuses the lock with its `outcome`, or is that of the holder; `free` or no such row decides nothing
 * - `acquired` a write: if it changed a row, the lock is acquired; otherwise it decides nothing
 * - `outcome` returns a row with the `outcome`; `free` if another session was faster
 * - `outcome of a row` the same; null or nothing if there is no row, which decides nothing
 */
export interface AcquireStep {
  readonly answer: 'refusal' | 'acquired' | 'outcome' | 'outcome of a row'
  readonly statement: Sql
}

/**
 * For databases where a read neither waits nor sets locks. An update waits for the lock of the row even if the row is held, so a
 * read comes first; and only if there is no row, an insert follows, which may fail with a duplicate key.
 */
export const readUpdateInsert = (lock: LockSql): AcquireStep[] => [
  { answer: 'refusal', statement: readRefusal(lock) },
  { answer: 'acquired', statement: updateRow(lock) },
  { answer: 'refusal', statement: readRefusal(lock) },
  { answer: 'acquired', statement: insertNew(lock) },
]

/** For databases where one statement inserts or acquires the row. It would wait for others even if the row is held, so a read comes first. */
export const readUpsert = (lock: LockSql): AcquireStep[] => [
  { answer: 'refusal', statement: readRefusal(lock) },
  { answer: 'acquired', statement: upsert(lock) },
]

/**
 * Reads why the lock is refused. Without a slot, that is who holds it; if the session must be examined, aggregates return a row even if
 * nobody does.
 */
export function readRefusal(lock: LockSql): Sql {
  const { dialect, table, isNamed, now, slot } = lock
  const more = sessionColumns(dialect)
  if (slot) return readOutcome(lock, { more })
  const read = (column: Sql): Sql => (dialect.unfit ? sql`max(${column})` : column)
  const until = dialect.epochMilliseconds(read(lock.lockUntil))
  return sql`
    select ${textAs(dialect, read(lock.lockedBy), COLUMN.owner)}, ${until} ${as(dialect, COLUMN.lockUntil)}${more}
    from ${table} where ${isNamed} and ${lock.lockUntil} > ${now}`
}

/**
 * Reads one row with the outcome; `free` if this acquisition already has the row (see `take`). The aggregates return it
 * even if the lock has no row yet, so a slot that is too far ahead is refused in that case too. The most frequent outcomes come
 * first, because computing the slot's time costs more than the rest on some databases.
 */
export function readOutcome(
  lock: LockSql,
  { first = sql``, otherwise = sql`'free'`, more = sql`` }: OutcomeParts = {},
): Sql {
  const { dialect, table, lockUntil, lockedAt, lockedBy, isNamed, now, slot, owner } = lock
  const ofSlot = slot
    ? sql`when max(${lockedAt}) >= ${slot} then 'already-run'
      when ${isTooFarAhead(lock, slot)} then 'slot-too-far-ahead' `
    : sql``
  return sql`
    select case ${first} when max(${lockUntil}) > ${now} then case when max(${lockedBy}) = ${owner} then 'free' else 'held' end
      ${ofSlot}else ${otherwise} end ${as(dialect, COLUMN.outcome)}${more}
    from ${table} where ${isNamed}`
}

interface OutcomeParts {
  /** A condition with its outcome, before all others. */
  readonly first?: Sql
  /** The outcome if none of the conditions is fulfilled. Default: `free`. */
  readonly otherwise?: Sql
  /** More columns. */
  readonly more?: Sql
}

export function isTooFarAhead({ dialect, now }: LockSql, slot: Sql): Sql {
  return sql`${slot} > ${dialect.plus(now, raw(String(SLOT_AT_MOST_AHEAD)))}`
}

/**
 * How a write acquires a row that exists; with a slot, only one that was last acquired before it. A layer below may send it a second time,
 * because the first answer was lost: it then finds the row with this acquisition's own owner, and must acquire it again. It never shortens
 * the lease, which may have been extended since. It reads the clock itself, because it may have had to wait.
 *
 * @param row the columns of the row as it was, if they need a qualifier
 */
export function take(
  lock: LockSql,
  row: Pick<LockSql, 'lockUntil' | 'lockedAt' | 'lockedBy'> = lock,
): Pick<Update, 'assignments' | 'condition'> {
  const { dialect, lockUntil, lockedAt, lockedBy, leaseEnd, now, slot, owner } = lock
  const locked = slot ? later(dialect, row.lockedAt, slot) : nextToken(dialect, row.lockedAt)
  return {
    assignments: sql`${lockUntil} = ${later(dialect, row.lockUntil, leaseEnd)}, ${lockedAt} = ${locked}, ${lockedBy} = ${owner}`,
    condition: slot
      ? sql`
      (${row.lockUntil} <= ${now} and ${row.lockedAt} < ${slot} or ${row.lockUntil} > ${now} and ${row.lockedBy} = ${owner})`
      : sql`(${row.lockUntil} <= ${now} or ${row.lockedBy} = ${owner})`,
  }
}

/** Acquires the row if it exists. */
export function updateRow(lock: LockSql): Sql {
  const { assignments, condition } = take(lock)
  return updateLock(lock, { assignments, condition: sql`${lock.isNamed} and ${condition}` })
}

/** Inserts the row, or acquires it if it exists. */
function upsert(lock: LockSql): Sql {
  const { table, name, lockUntil, lockedAt, lockedBy } = lock
  const { assignments, condition } = take(lock, {
    lockUntil: sql`held.${lockUntil}`,
    lockedAt: sql`held.${lockedAt}`,
    lockedBy: sql`held.${lockedBy}`,
  })
  return sql`
    insert into ${table} as held (${columns(lock)})
    values (${newRow(lock)})
    on conflict (${name}) do update
    set ${assignments}
    where ${condition}`
}

/** Inserts the row; fails with a duplicate key if it exists. */
export function insertNew(lock: LockSql): Sql {
  return sql`
    insert into ${lock.table} (${columns(lock)})
    values (${newRow(lock)})`
}

/** The values of a row that is inserted. */
export function newRow({ lockName, leaseEnd, slot, now, owner }: LockSql): Sql {
  return sql`${lockName}, ${leaseEnd}, ${slot ?? now}, ${owner}`
}

/** Finds (`read`) or changes (`write`) one row if this acquisition still holds the lock, and none otherwise. */
export interface Pin {
  readonly kind: 'read' | 'write'
  readonly statement: Sql
}

/** Pins the row with a read that locks it. */
export const pinByRead =
  (statement: (lock: LockSql) => Sql) =>
  (lock: LockSql): Pin => ({ kind: 'read', statement: statement(lock) })

/** Pins the row by writing it unchanged, where no read keeps other sessions out. */
export const pinByWrite = ({ table, lockedBy, isOwnHeld }: LockSql): Pin => ({
  kind: 'write',
  statement: sql`update ${table} set ${lockedBy} = ${lockedBy} where ${isOwnHeld}`,
})
