import { SLOT_AT_MOST_AHEAD } from '../core'
import type { AcquireStep, Dialect, LockTable, Pin } from './dialect'
import { parameter, raw, sql, type Statement } from './statement'

// The parts of which the dialects put their statements together. `slot`: whether the lock has one.

const name = parameter('name')
const lockedBy = parameter('lockedBy')
const lockAtMostFor = parameter('lockAtMostFor')

/** The row of this lock. */
export function isNamed(dialect: Dialect, table: LockTable): Statement {
  return sql`${table.name} = ${dialect.text(name)}`
}

export function isHeld(dialect: Dialect, table: LockTable): Statement {
  return sql`${isNamed(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}

export function isMine(dialect: Dialect, table: LockTable): Statement {
  return sql`${isNamed(dialect, table)} and ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

export function isHeldByMe(dialect: Dialect, table: LockTable): Statement {
  return sql`${isMine(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}

/** Names a column of a result. Quoted, because some names are words of SQL, and some databases would fold them. */
export function as(dialect: Dialect, column: string): Statement {
  return raw(`as ${dialect.quote(column)}`)
}

/** For databases where a read waits for nobody and sets no locks: read, update, and insert only where no row is. */
export function lookUpdateInsert(dialect: Dialect, table: LockTable, slot: boolean): AcquireStep[] {
  const look: AcquireStep = { tells: 'refusal', statement: refusal(dialect, table, slot) }
  return [
    look,
    { tells: 'acquired', statement: updateFree(dialect, table, slot) },
    look,
    { tells: 'acquired', statement: insertNew(dialect, table, slot) },
  ]
}

/** Reads what speaks against the lock; for a lock without a slot: who holds it. */
export function refusal(dialect: Dialect, table: LockTable, slot: boolean): Statement {
  if (slot) return slotOutcome(dialect, table)
  const until = dialect.epochMilliseconds(table.lockUntil)
  return sql`
    select ${table.lockedBy} ${as(dialect, 'owner')}, ${until} ${as(dialect, 'lock_until')}
    from ${table.table} where ${isHeld(dialect, table)}`
}

/**
 * One row that tells whether the slot is free. The aggregates make one row of none, so that a slot that is too far ahead is
 * seen before there is a row. The most frequent outcomes come first: times are made of texts and functions, and cost more
 * than the rest on some databases.
 */
export function slotOutcome(dialect: Dialect, table: LockTable): Statement {
  const slot = slotTime(dialect)
  return sql`
    select case when max(${table.lockUntil}) > ${dialect.now} then 'held'
      when max(${table.lockedAt}) >= ${slot} then 'already-run'
      when ${slot} > ${dialect.plus(dialect.now, raw(String(SLOT_AT_MOST_AHEAD)))} then 'slot-too-far-ahead'
      else 'free' end ${as(dialect, 'outcome')}
    from ${table.table} where ${isNamed(dialect, table)}`
}

/** Acquires the row if it is there and free. */
export function updateFree(dialect: Dialect, table: LockTable, slot: boolean): Statement {
  return sql`
    update ${table.table} set ${assignments(dialect, table, slot)}
    where ${isNamed(dialect, table)} and ${isFree(dialect, table, slot)}`
}

/** Acquires the row for a slot again, if it is free and as it was seen. */
export function updateAgain(dialect: Dialect, table: LockTable): Statement {
  const { now } = dialect
  const seen = sql`${table.lockedBy} = ${dialect.text(parameter('seenBy'))} and ${table.lockedAt} = ${slotTime(dialect, 'seenAt')}`
  return sql`
    update ${table.table} set ${assignments(dialect, table, true)}
    where ${isNamed(dialect, table)} and ${seen} and ${table.lockUntil} <= ${now}`
}

/** Makes the row; fails with a duplicate key if it is there. */
export function insertNew(dialect: Dialect, table: LockTable, slot: boolean): Statement {
  return sql`insert into ${table.table} (${columns(table)}) values (${newRow(dialect, slot)})`
}

/** Makes the row, or acquires it if it is free; never fails on a duplicate key. */
export function upsert(dialect: Dialect, table: LockTable, slot: boolean, source: Statement): Statement {
  const held = (column: Statement): Statement => sql`${raw('held')}.${column}`
  const row = { ...table, lockUntil: held(table.lockUntil), lockedAt: held(table.lockedAt) }
  return sql`
    insert into ${table.table} as held (${columns(table)}) ${source}
    on conflict (${table.name}) do update set ${assignments(dialect, row, slot, table)} where ${isFree(dialect, row, slot)}`
}

export function columns(table: LockTable): Statement {
  return sql`${table.name}, ${table.lockUntil}, ${table.lockedAt}, ${table.lockedBy}`
}

/** The values of a row that was not there, in the order of `columns`. */
export function newRow(dialect: Dialect, slot: boolean): Statement {
  const lockedAt = slot ? slotTime(dialect) : dialect.now
  return sql`${dialect.text(name)}, ${dialect.plus(dialect.now, lockAtMostFor)}, ${lockedAt}, ${dialect.text(lockedBy)}`
}

/**
 * The clock is read here again, not taken from the proposed row: that one is old when the row was waited for.
 *
 * @param row its columns, as the statement calls those of the row before
 */
function assignments(dialect: Dialect, row: LockTable, slot: boolean, table = row): Statement {
  const { now } = dialect
  // It grows with every acquisition: it is the fencing token.
  const lockedAt = slot
    ? slotTime(dialect)
    : sql`case when ${row.lockedAt} < ${now} then ${now} else ${dialect.plus(row.lockedAt, raw('1'))} end`
  return sql`${table.lockUntil} = ${dialect.plus(now, lockAtMostFor)}, ${table.lockedAt} = ${lockedAt}, ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

function isFree(dialect: Dialect, row: LockTable, slot: boolean): Statement {
  const expired = sql`${row.lockUntil} <= ${dialect.now}`
  return slot ? sql`${expired} and ${row.lockedAt} < ${slotTime(dialect)}` : expired
}

function slotTime(dialect: Dialect, value: 'slot' | 'seenAt' = 'slot'): Statement {
  return dialect.plus(dialect.epoch, parameter(value))
}

interface LockingRead {
  /** What to read of the row. */
  readonly column?: (dialect: Dialect, table: LockTable) => Statement
  /** Stands behind the table's name. */
  readonly hint?: string
  /** Stands at the end. */
  readonly clause?: string
}

/** Pins the row with a read that locks it. */
export const pinByRead =
  ({ column = () => raw('1'), hint = '', clause = '' }: LockingRead) =>
  (dialect: Dialect, table: LockTable): Pin => ({
    kind: 'read',
    statement: sql`select ${column(dialect, table)} from ${table.table} ${raw(hint)} where ${isHeldByMe(dialect, table)} ${raw(clause)}`,
  })

/** Pins the row by writing it as it is, where no read keeps others out. */
export const pinByWrite = (dialect: Dialect, table: LockTable): Pin => ({
  kind: 'write',
  statement: sql`update ${table.table} set ${table.lockedBy} = ${table.lockedBy} where ${isHeldByMe(dialect, table)}`,
})
