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
import type { TableSql } from './table-names'

// The steps to a lock, and the statements of which the dialects compose them. `slot`: whether the lock has one.

/** What an attempt to acquire a lock came to. */
export type AcquireOutcome = 'acquired' | 'held' | 'already-run' | 'slot-too-far-ahead'

/**
 * One statement on the way to a lock, and what its answer means:
 *
 * - `refusal` a read: a row refuses the lock, and has the `outcome` (`held` without one); no row, or `free`, decides nothing
 * - `acquired` a write: if it changed a row, the lock is acquired; if not, that decides nothing
 * - `acquired or held` a write: if it changed no row, it saw the row held
 * - `outcome` a row with the `outcome`; `free` if somebody else was faster
 */
export interface AcquireStep {
  readonly answer: 'refusal' | 'acquired' | 'acquired or held' | 'outcome'
  readonly statement: Sql
}

/** What a step did or saw; and the row of who holds the lock, or the clock that the slot is too far ahead of, if it saw one. */
export interface StepResult {
  readonly outcome: AcquireOutcome
  readonly row?: SqlRow | undefined
}

/** What runs a step. */
interface StepRunner {
  readonly executor: Pick<SqlExecutor, 'query'>
  /** Sends a write once, and returns how many rows it changed. */
  changes(statement: Sql, values: SqlValues, attempt: Attempt): Promise<number>
}

/** Runs one step. @returns `undefined` when it decides nothing, and the next step is to be tried */
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
  // The first rows may be those of a trigger.
  if (answer === 'outcome' && row?.['outcome'] === undefined) throw uncounted()
  const outcome = row && ((row['outcome'] ?? 'held') as AcquireOutcome | 'free')
  return outcome === undefined || outcome === 'free' ? undefined : { outcome, row }
}

const name = parameter('name')
const lockedBy = parameter('lockedBy')
const lockAtMostFor = parameter('lockAtMostFor')

/** For databases where a read waits for nobody and sets no locks: read, update, and insert only where no row is. */
export function lookUpdateInsert(dialect: Expressions, table: TableSql, slot: boolean): AcquireStep[] {
  const look: AcquireStep = { answer: 'refusal', statement: refusal(dialect, table, slot) }
  return [
    look,
    { answer: 'acquired', statement: updateFree(dialect, table, slot) },
    look,
    { answer: 'acquired', statement: insertNew(dialect, table, slot) },
  ]
}

/** Reads what speaks against the lock; for a lock without a slot: who holds it. */
export function refusal(dialect: Expressions, table: TableSql, slot: boolean): Sql {
  if (slot) return slotOutcome(dialect, table, readOnlyColumn(dialect))
  const until = dialect.epochMilliseconds(table.lockUntil)
  return sql`
    select ${textAs(dialect, table.lockedBy, 'owner')}, ${until} ${as(dialect, 'lock_until')}${readOnlyColumn(dialect)}
    from ${table.table} where ${isHeld(dialect, table)}`
}

/**
 * One row that says whether the slot is free. The aggregates make one row of none, so that a slot that is too far ahead is
 * seen before there is a row. The most frequent outcomes come first: times are made of texts and functions, and cost more
 * than the rest on some databases.
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

/** Acquires the row if it is there and free. */
export function updateFree(dialect: Expressions, table: TableSql, slot: boolean): Sql {
  return sql`
    update ${table.table} set ${assignments(dialect, table, slot)}
    where ${isNamed(dialect, table)} and ${isFree(dialect, table, slot)}`
}

/** Acquires the row for a slot again, if it is free and as it was seen. */
export function updateAgain(dialect: Expressions, table: TableSql): Sql {
  const { now } = dialect
  // Counted as it was read, because another program's clock may have written microseconds.
  const isSeenAt = sql`${dialect.epochMilliseconds(table.lockedAt)} = ${parameter('seenAt')}`
  const seen = sql`${table.lockedBy} = ${dialect.text(parameter('seenBy'))} and ${isSeenAt}`
  return sql`
    update ${table.table} set ${assignments(dialect, table, true)}
    where ${isNamed(dialect, table)} and ${seen} and ${table.lockUntil} <= ${now}`
}

/** Makes the row; fails with a duplicate key if it is there. */
export function insertNew(dialect: Expressions, table: TableSql, slot: boolean): Sql {
  return sql`insert into ${table.table} (${columns(table)}) values (${newRow(dialect, slot)})`
}

/** Makes the row, or acquires it if it is free; never fails on a duplicate key. */
export function upsert(dialect: Expressions, table: TableSql, slot: boolean, source: Sql): Sql {
  const held = (column: Sql): Sql => sql`${raw('held')}.${column}`
  const row = { ...table, lockUntil: held(table.lockUntil), lockedAt: held(table.lockedAt) }
  return sql`
    insert into ${table.table} as held (${columns(table)}) ${source}
    on conflict (${table.name}) do update set ${assignments(dialect, row, slot, table)} where ${isFree(dialect, row, slot)}`
}

/** The values of a row that was not there, in the order of `columns`. */
export function newRow(dialect: Expressions, slot: boolean): Sql {
  const lockedAt = slot ? slotTime(dialect) : dialect.now
  return sql`${dialect.text(name)}, ${dialect.plus(dialect.now, lockAtMostFor)}, ${lockedAt}, ${dialect.text(lockedBy)}`
}

/**
 * The clock is read here again, not taken from the proposed row: that one is old when the row was waited for.
 *
 * @param row its columns, as the statement calls those of the row before
 */
function assignments(dialect: Expressions, row: TableSql, slot: boolean, table = row): Sql {
  const { now } = dialect
  // It grows with every acquisition: it is the fencing token.
  const lockedAt = slot
    ? slotTime(dialect)
    : sql`case when ${row.lockedAt} < ${now} then ${now} else ${dialect.plus(row.lockedAt, raw('1'))} end`
  return sql`${table.lockUntil} = ${dialect.plus(now, lockAtMostFor)}, ${table.lockedAt} = ${lockedAt}, ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

function isFree(dialect: Expressions, row: TableSql, slot: boolean): Sql {
  const expired = sql`${row.lockUntil} <= ${dialect.now}`
  return slot ? sql`${expired} and ${row.lockedAt} < ${slotTime(dialect)}` : expired
}
