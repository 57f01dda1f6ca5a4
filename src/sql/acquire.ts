import { SLOT_AT_MOST_AHEAD } from '../core/internal'
import {
  as,
  columns,
  later,
  nextToken,
  sessionColumns,
  textAs,
  updateLock,
  type Expressions,
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
 * - `acquired or held` a write: if it changed no row, the lock is held
 * - `outcome` returns a row with the `outcome`; `free` if another session was faster
 * - `outcome of a row` the same; null or nothing if there is no row, which decides nothing
 */
export interface AcquireStep {
  readonly answer: 'refusal' | 'acquired' | 'acquired or held' | 'outcome' | 'outcome of a row'
  readonly statement: Sql
}

/**
 * For databases where a read neither waits nor sets locks. An update waits for the lock of the row even if the row is held, so a
 * read comes first; and only if there is no row, an insert follows, which may fail with a duplicate key.
 */
export const readUpdateInsert = {
  acquire: (dialect: Expressions, lock: LockSql): AcquireStep[] => [
    { answer: 'refusal', statement: readHolderOrNobody(dialect, lock) },
    { answer: 'acquired', statement: updateRow(dialect, lock, takeFree(dialect, lock)) },
    { answer: 'refusal', statement: readHolder(dialect, lock) },
    { answer: 'acquired', statement: insertNew(lock, lock.now) },
  ],
  acquireSlot: (dialect: Expressions, lock: LockSql): AcquireStep[] => [
    { answer: 'refusal', statement: readOutcome(dialect, lock, { more: sessionColumns(dialect) }) },
    { answer: 'acquired', statement: updateRow(dialect, lock, takeBeforeSlot(dialect, lock)) },
    { answer: 'refusal', statement: readOutcome(dialect, lock, { more: sessionColumns(dialect) }) },
    { answer: 'acquired', statement: insertNew(lock, lock.slot) },
  ],
}

/** Reads who holds the lock, if it is held. */
export function readHolder(dialect: Expressions, lock: LockSql, read = (column: Sql): Sql => column): Sql {
  const { table, isNamed, now } = lock
  const until = dialect.epochMilliseconds(read(lock.lockUntil))
  return sql`
    select ${textAs(dialect, read(lock.lockedBy), COLUMN.owner)}, ${until} ${as(dialect, COLUMN.lockUntil)}${sessionColumns(dialect)}
    from ${table} where ${isNamed} and ${lock.lockUntil} > ${now}`
}

/** The same in the first step. If the session must be examined, aggregates return a row even if nobody holds the lock. */
function readHolderOrNobody(dialect: Expressions, lock: LockSql): Sql {
  return readHolder(dialect, lock, dialect.unfit && ((column) => sql`max(${column})`))
}

/**
 * Reads one row with the outcome for a slot; `free` if this acquisition already has the row (see `Taking`). The aggregates return it
 * even if the lock has no row yet, so a slot that is too far ahead is refused in that case too. The most frequent outcomes come
 * first, because computing the slot's time costs more than the rest on some databases.
 */
export function readOutcome(
  dialect: Expressions,
  lock: LockSql,
  { first = sql``, otherwise = sql`'free'`, more = sql`` }: OutcomeParts = {},
): Sql {
  const { table, lockUntil, lockedAt, lockedBy, isNamed, now, slot, owner } = lock
  return sql`
    select case ${first} when max(${lockUntil}) > ${now} then case when max(${lockedBy}) = ${owner} then 'free' else 'held' end
      when max(${lockedAt}) >= ${slot} then 'already-run'
      when ${isTooFarAhead(dialect, lock)} then 'slot-too-far-ahead'
      else ${otherwise} end ${as(dialect, COLUMN.outcome)}${more}
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

export function isTooFarAhead(dialect: Expressions, { slot, now }: LockSql): Sql {
  return sql`${slot} > ${dialect.plus(now, raw(String(SLOT_AT_MOST_AHEAD)))}`
}

/**
 * How a write acquires a row that exists. A layer below may send it a second time, because the first answer was lost: it then finds
 * the row with this acquisition's own owner, and must acquire it again. It never shortens the lease, which may have been extended
 * since. It reads the clock itself, because it may have had to wait.
 */
export type Taking = Pick<Update, 'assignments' | 'condition'>

/** @param row the columns of the row as it was, if they need a qualifier */
export function takeFree(dialect: Expressions, lock: LockSql, row: TableColumns = lock): Taking {
  const { now, owner } = lock
  return {
    assignments: assignments(dialect, lock, row, nextToken(dialect, row.lockedAt)),
    condition: sql`(${row.lockUntil} <= ${now} or ${row.lockedBy} = ${owner})`,
  }
}

/** The same for a row that was last acquired before the slot. */
export function takeBeforeSlot(dialect: Expressions, lock: LockSql, row: TableColumns = lock): Taking {
  const { now, slot, owner } = lock
  return {
    assignments: assignments(dialect, lock, row, later(dialect, row.lockedAt, slot)),
    condition: sql`
      (${row.lockUntil} <= ${now} and ${row.lockedAt} < ${slot} or ${row.lockUntil} > ${now} and ${row.lockedBy} = ${owner})`,
  }
}

type TableColumns = Pick<LockSql, 'lockUntil' | 'lockedAt' | 'lockedBy'>

function assignments(
  dialect: Expressions,
  { lockUntil, lockedAt, lockedBy, leaseEnd, owner }: LockSql,
  row: TableColumns,
  locked: Sql,
) {
  return sql`${lockUntil} = ${later(dialect, row.lockUntil, leaseEnd)}, ${lockedAt} = ${locked}, ${lockedBy} = ${owner}`
}

/** Acquires the row if it exists. */
export function updateRow(dialect: Expressions, lock: LockSql, { assignments, condition }: Taking): Sql {
  return updateLock(dialect, lock, { assignments, condition: sql`${lock.isNamed} and ${condition}` })
}

/** Inserts the row, or acquires it if it exists. @param values what to insert: `values (…)` or a `select` */
export function upsert(lock: LockSql, values: Sql, take: (row: TableColumns) => Taking): Sql {
  const { table, name, lockUntil, lockedAt, lockedBy } = lock
  const { assignments, condition } = take({
    lockUntil: sql`held.${lockUntil}`,
    lockedAt: sql`held.${lockedAt}`,
    lockedBy: sql`held.${lockedBy}`,
  })
  return sql`
    insert into ${table} as held (${columns(lock)})
    ${values}
    on conflict (${name}) do update
    set ${assignments}
    where ${condition}`
}

/** Inserts the row; fails with a duplicate key if it exists. */
export function insertNew(lock: LockSql, locked: Sql): Sql {
  const { table, lockName, leaseEnd, owner } = lock
  return sql`
    insert into ${table} (${columns(lock)})
    values (${lockName}, ${leaseEnd}, ${locked}, ${owner})`
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
