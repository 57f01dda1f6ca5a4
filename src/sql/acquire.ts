import { SLOT_AT_MOST_AHEAD } from '../core/internal'
import {
  as,
  columns,
  isHeld,
  isNamed,
  readOnlyColumn,
  slotTime,
  textAs,
  type Expressions,
} from './expressions'
import { uncounted } from './calls'
import { parameter, raw, sql, type Sql, type SqlValues } from './sql'
import type { Attempt, SqlExecutor, SqlRow } from './sql-executor'
import type { TableSql } from './table/names'

// The steps to a lock, and the statements from which the dialects compose them. `slot` is whether the lock has one.

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

/** Sends the statements of steps. */
interface StepRunner {
  readonly executor: Pick<SqlExecutor, 'query'>
  /** Sends a write once, and returns how many rows it changed. */
  changes(statement: Sql, values: SqlValues, attempt: Attempt): Promise<number>
}

/** Runs one step. @returns `undefined` if it decides nothing, so that the next step must be tried */
export async function runStep(
  { answer, statement }: AcquireStep,
  values: SqlValues,
  runner: StepRunner,
  attempt: Attempt,
): Promise<StepResult | undefined> {
  if (answer === 'acquired' || answer === 'acquired or held') {
    const changed = await runner.changes(statement, values, attempt)
    if (changed > 0) return { outcome: 'acquired' }
    return answer === 'acquired' ? undefined : { outcome: 'held' }
  }
  const [row] = await runner.executor.query(statement, values, attempt)
  // A trigger may have returned the first rows.
  if (answer === 'outcome' && row?.['outcome'] === undefined) throw uncounted()
  const outcome = row && ((row['outcome'] ?? 'held') as AcquireOutcome | 'free')
  return outcome === undefined || outcome === 'free' ? undefined : { outcome, row }
}

const name = parameter('name')
const lockedBy = parameter('lockedBy')
const lockAtMostFor = parameter('lockAtMostFor')

/** For databases where a read neither waits nor sets locks: read, update, and insert only if there is no row. */
export function readUpdateInsert(dialect: Expressions, table: TableSql, slot: boolean): AcquireStep[] {
  const read: AcquireStep = { answer: 'refusal', statement: refusal(dialect, table, slot) }
  return [
    read,
    { answer: 'acquired', statement: updateFree(dialect, table, slot) },
    read,
    { answer: 'acquired', statement: insertNew(dialect, table, slot) },
  ]
}

/** Reads whether the lock is refused: returns the outcome for a slot, and the holder without one. */
export function refusal(dialect: Expressions, table: TableSql, slot: boolean): Sql {
  if (slot) return slotOutcome(dialect, table, readOnlyColumn(dialect))
  const until = dialect.epochMilliseconds(table.lockUntil)
  return sql`
    select ${textAs(dialect, table.lockedBy, 'owner')}, ${until} ${as(dialect, 'lock_until')}${readOnlyColumn(dialect)}
    from ${table.table} where ${isHeld(dialect, table)}`
}

/**
 * Reads one row with the outcome for a slot. The aggregates return it even if the lock has no row yet, so a slot that is too far
 * ahead is refused in that case too. The most frequent outcomes come first, because computing the slot's time costs more than the
 * rest on some databases.
 */
export function slotOutcome(dialect: Expressions, table: TableSql, more = sql``): Sql {
  const slot = slotTime(dialect)
  return sql`
    select case when max(${table.lockUntil}) > ${dialect.now} then 'held'
      when max(${table.lockedAt}) >= ${slot} then 'already-run'
      when ${slot} > ${dialect.plus(dialect.now, raw(String(SLOT_AT_MOST_AHEAD)))} then 'slot-too-far-ahead'
      else 'free' end ${as(dialect, 'outcome')}${more}
    from ${table.table} where ${isNamed(dialect, table)}`
}

/** Acquires the row if it exists and is free. */
export function updateFree(dialect: Expressions, table: TableSql, slot: boolean): Sql {
  return sql`
    update ${table.table} set ${assignments(dialect, table, slot)}
    where ${isNamed(dialect, table)} and ${isFree(dialect, table, slot)}`
}

/** Acquires the row for a slot again, if it is free and has not changed since it was read. */
export function updateAgain(dialect: Expressions, table: TableSql): Sql {
  const { now } = dialect
  // Compares milliseconds, because that is what was read, and another program's clock may have written microseconds.
  const isSeenAt = sql`${dialect.epochMilliseconds(table.lockedAt)} = ${parameter('seenAt')}`
  const seen = sql`${table.lockedBy} = ${dialect.text(parameter('seenBy'))} and ${isSeenAt}`
  return sql`
    update ${table.table} set ${assignments(dialect, table, true)}
    where ${isNamed(dialect, table)} and ${seen} and ${table.lockUntil} <= ${now}`
}

/** Inserts the row; fails with a duplicate key if it exists. */
export function insertNew(dialect: Expressions, table: TableSql, slot: boolean): Sql {
  return sql`insert into ${table.table} (${columns(table)}) values (${newRow(dialect, slot)})`
}

/** Inserts the row, or acquires it if it is free; never fails with a duplicate key. */
export function upsert(dialect: Expressions, table: TableSql, slot: boolean, source: Sql): Sql {
  const held = (column: Sql): Sql => sql`${raw('held')}.${column}`
  const row = { ...table, lockUntil: held(table.lockUntil), lockedAt: held(table.lockedAt) }
  return sql`
    insert into ${table.table} as held (${columns(table)}) ${source}
    on conflict (${table.name}) do update set ${assignments(dialect, row, slot, table)} where ${isFree(dialect, row, slot)}`
}

/** The values of a new row, in the order of `columns`. */
export function newRow(dialect: Expressions, slot: boolean): Sql {
  const lockedAt = slot ? slotTime(dialect) : dialect.now
  return sql`${dialect.text(name)}, ${dialect.plus(dialect.now, lockAtMostFor)}, ${lockedAt}, ${dialect.text(lockedBy)}`
}

/**
 * Reads the clock again, because the time in the proposed row is out of date if the statement had to wait.
 *
 * @param row its columns, as the statement names those of the existing row
 */
function assignments(dialect: Expressions, row: TableSql, slot: boolean, table = row): Sql {
  const { now } = dialect
  // The fencing token: it grows with every acquisition.
  const lockedAt = slot
    ? slotTime(dialect)
    : sql`case when ${row.lockedAt} < ${now} then ${now} else ${dialect.plus(row.lockedAt, raw('1'))} end`
  return sql`${table.lockUntil} = ${dialect.plus(now, lockAtMostFor)}, ${table.lockedAt} = ${lockedAt}, ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

function isFree(dialect: Expressions, row: TableSql, slot: boolean): Sql {
  const expired = sql`${row.lockUntil} <= ${dialect.now}`
  return slot ? sql`${expired} and ${row.lockedAt} < ${slotTime(dialect)}` : expired
}
