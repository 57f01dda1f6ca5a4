import { forSlot } from './claim'
import type { Claim, Dialect, LockStatementForm } from './dialect'
import { isNamed } from './lock-row'
import type { LockTable } from './lock-table'
import { parameter, raw, sql, type Statement } from './statement'

// The ways to take a lock, of which a dialect chooses: `acquire` in its file says which, in their order.

const name = parameter('name')
const lockedBy = parameter('lockedBy')
const lockAtMostFor = parameter('lockAtMostFor')

/** Takes the row if it is there and free. */
export const takeExpired: LockStatementForm = (dialect, table, claim) => ({
  kind: 'take',
  statement: sql`update ${table.table} set ${assignments(dialect, table, claim)} where ${isNamed(dialect, table)} and ${claim.isFree(dialect, table)}`,
})

/** Makes the row; fails with a duplicate key if it is there. */
export const insertNew: LockStatementForm = (dialect, table, claim) => ({
  kind: 'take',
  statement: sql`insert into ${table.table} (${columns(table)}) values (${newRow(dialect, claim)})`,
})

/** Makes the row if it is not there; a duplicate key only if another session makes it at this moment. */
export const insertMissing: LockStatementForm = (dialect, table, claim) => ({
  kind: 'take',
  statement: sql`
    insert into ${table.table} (${columns(table)}) select ${newRow(dialect, claim)} from dual
    where not exists (${rowExists(dialect, table)})`,
})

/** Makes the row, or takes it if it is free: one statement that never fails on a duplicate key. */
export const upsert: LockStatementForm = (dialect, table, claim) => ({
  kind: 'take',
  statement: insertOrTake(dialect, table, claim, sql`values (${newRow(dialect, claim)})`),
})

/**
 * The upsert, unless the row is seen to be held: then it is a mere read. A plain upsert that loses has locked the row,
 * and costs a transaction id, WAL and a flush (measured on PostgreSQL 15: 96 bytes and twice the time).
 */
export const guardedUpsert: LockStatementForm = (dialect, table, claim) => ({
  kind: 'take',
  statement: insertOrTake(
    dialect,
    table,
    claim,
    sql`select ${newRow(dialect, claim)} where not exists (${claim.look(dialect, table)})`,
  ),
})

/** The guarded upsert for a slot: the same statement says why it took nothing. */
export const decidingUpsert: LockStatementForm = (dialect, table, claim) => {
  const outcome = raw(dialect.quote('outcome'))
  const source = sql`select ${newRow(dialect, claim)} from shedlock_seen where ${outcome} = 'free'`
  return {
    kind: 'decide',
    statement: sql`
      with shedlock_seen as (${claim.look(dialect, table)}),
      shedlock_taken as (${insertOrTake(dialect, table, claim, source)} returning 1)
      select case when exists (select 1 from shedlock_taken) then 'taken' else ${outcome} end as ${outcome} from shedlock_seen`,
  }
}

/** One form for a lock without a slot, and another for a slot. */
export const either =
  (withoutSlot: LockStatementForm, withSlot: LockStatementForm): LockStatementForm =>
  (dialect, table, claim) =>
    (claim === forSlot ? withSlot : withoutSlot)(dialect, table, claim)

/** Sees whether the lock is refused. */
const lookForSlot: LockStatementForm = (dialect, table, claim) => ({
  kind: 'look',
  statement: claim.look(dialect, table),
})

/** Sees whether the lock is held, and by whom. */
const lookForHolder: LockStatementForm = (dialect, table) => {
  const as = (column: string): Statement => raw(`as ${dialect.quote(column)}`)
  const columns = sql`${table.lockedBy} ${as('owner')}, ${dialect.epochMilliseconds(table.lockUntil)} ${as('lock_until')}`
  const held = sql`${isNamed(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
  return { kind: 'look', statement: sql`select ${columns} from ${table.table} where ${held}` }
}

export const look = either(lookForHolder, lookForSlot)

/** The same after a take that took nothing: a row that is there and was not taken is held. */
export const lookAgain: LockStatementForm = (dialect, table, claim) => ({
  kind: 'look',
  statement: claim.lookAgain(dialect, table),
})

export function rowExists(dialect: Dialect, table: LockTable): Statement {
  return sql`select 1 from ${table.table} where ${isNamed(dialect, table)}`
}

function columns(table: LockTable): Statement {
  return sql`${table.name}, ${table.lockUntil}, ${table.lockedAt}, ${table.lockedBy}`
}

function newRow(dialect: Dialect, claim: Claim): Statement {
  return sql`${dialect.text(name)}, ${dialect.plus(dialect.now, lockAtMostFor)}, ${claim.firstLockedAt(dialect)}, ${dialect.text(lockedBy)}`
}

/**
 * The clock is read here again, not taken from the proposed row: that one is old when the row was waited for.
 *
 * @param row the table, with its columns as the statement calls those of the row before
 */
function assignments(dialect: Dialect, table: LockTable, claim: Claim, row = table): Statement {
  return sql`${table.lockUntil} = ${dialect.plus(dialect.now, lockAtMostFor)}, ${table.lockedAt} = ${claim.lockedAt(dialect, row)}, ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

function insertOrTake(dialect: Dialect, table: LockTable, claim: Claim, source: Statement): Statement {
  const held = (column: Statement): Statement => sql`${raw('held')}.${column}`
  const row = { ...table, lockUntil: held(table.lockUntil), lockedAt: held(table.lockedAt) }
  return sql`
    insert into ${table.table} as held (${columns(table)}) ${source}
    on conflict (${table.name}) do update set ${assignments(dialect, table, claim, row)} where ${claim.isFree(dialect, row)}`
}
