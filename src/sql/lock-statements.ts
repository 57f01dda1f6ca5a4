import type { AcquireStep, Dialect, LockStatementForm, Pin } from './dialect'
import type { LockTable } from './lock-table'
import { parameter, raw, sql, type Statement } from './statement'

/** All that the lock says to the database, once and for every dialect. `lock_until <= now` is free, `lock_until > now` is held. */
export interface LockStatements {
  readonly acquire: readonly AcquireStep[]
  readonly extend: Statement
  readonly unlock: Statement
  /** Frees the lock, but not before `lockAtLeastFor` after its `locked_at`. */
  readonly unlockAtLeast: Statement
  /** For the caller's own transaction. */
  readonly pin: Pin
  /** Frees the lock of an owner whose name one has read, if it is still held. */
  readonly release: Statement
  /** All rows, with times as milliseconds since 1970. */
  readonly list: Statement
  readonly describe: Statement
}

const name = parameter('name')
const lockedBy = parameter('lockedBy')
const lockAtMostFor = parameter('lockAtMostFor')
const lockAtLeastFor = parameter('lockAtLeastFor')

/** The statements of one lock table in the words of one dialect. Pure; make them once for each table. */
export function lockStatements(dialect: Dialect, table: LockTable): LockStatements {
  const mine = isMine(dialect, table)
  const atLeast = dialect.plus(table.lockedAt, lockAtLeastFor)
  const free = dialect.release ?? update
  return {
    acquire: dialect.acquire.map((form) => form(dialect, table)),
    extend: sql`
      update ${table.table} set ${table.lockUntil} = ${dialect.plus(dialect.now, lockAtMostFor)}
      where ${isHeldByMe(dialect, table)}`,
    unlock: free(table.table, sql`${table.lockUntil} = ${dialect.now}`, mine),
    unlockAtLeast: free(
      table.table,
      sql`${table.lockUntil} = case when ${atLeast} > ${dialect.now} then ${atLeast} else ${dialect.now} end`,
      mine,
    ),
    pin: dialect.pin(dialect, table),
    release: sql`
      update ${table.table} set ${table.lockUntil} = ${dialect.now} where ${isHeldByMe(dialect, table)}`,
    list: list(dialect, table),
    describe: dialect.describe(parameter('schema'), parameter('table')),
  }
}

function update(table: Statement, assignment: Statement, condition: Statement): Statement {
  return sql`update ${table} set ${assignment} where ${condition}`
}

/** Takes the row if it is there and free. */
export const takeExpired: LockStatementForm = (dialect, table) => ({
  kind: 'take',
  statement: sql`update ${table.table} set ${assignments(dialect, table)} where ${isNamed(dialect, table)} and ${table.lockUntil} <= ${dialect.now}`,
})

/** Makes the row; fails with a duplicate key if it is there. */
export const insertNew: LockStatementForm = (dialect, table) => ({
  kind: 'take',
  statement: sql`insert into ${table.table} (${columns(table)}) values (${newRow(dialect)})`,
})

/** Makes the row if it is not there; a duplicate key only if another session makes it at this moment. */
export const insertMissing: LockStatementForm = (dialect, table) => ({
  kind: 'take',
  statement: sql`
    insert into ${table.table} (${columns(table)}) select ${newRow(dialect)} from dual
    where not exists (${lookExists(dialect, table).statement})`,
})

/** Makes the row, or takes it if it is free: one statement that never fails on a duplicate key. */
export const upsert: LockStatementForm = (dialect, table) => ({
  kind: 'take',
  statement: sql`
    insert into ${table.table} as held (${columns(table)}) values (${newRow(dialect)})
    ${onConflictTakeExpired(dialect, table)}`,
})

/**
 * The upsert, unless the row is seen to be held: then it is a mere read. A plain upsert that loses has locked the row,
 * and costs a transaction id, WAL and a flush (measured on PostgreSQL 15: 96 bytes and twice the time).
 */
export const guardedUpsert: LockStatementForm = (dialect, table) => ({
  kind: 'take',
  statement: sql`
    insert into ${table.table} as held (${columns(table)}) select ${newRow(dialect)}
    where not exists (
      select 1 from ${table.table} where ${isNamed(dialect, table)} and ${table.lockUntil} > ${dialect.now})
    ${onConflictTakeExpired(dialect, table)}`,
})

/** Sees whether somebody holds the lock. */
export const lookHeld: LockStatementForm = (dialect, table) => ({
  kind: 'look',
  statement: sql`select 1 from ${table.table} where ${isNamed(dialect, table)} and ${table.lockUntil} > ${dialect.now}`,
})

/** Sees whether the row is there: after a `takeExpired` that took nothing, that means it is held. */
export const lookExists: LockStatementForm = (dialect, table) => ({
  kind: 'look',
  statement: sql`select 1 from ${table.table} where ${isNamed(dialect, table)}`,
})

export interface LockingRead {
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

/** The names of the result are quoted, because some are words of SQL, and some databases would fold them. */
function list(dialect: Dialect, table: LockTable): Statement {
  const as = (column: string): Statement => raw(`as ${dialect.quote(column)}`)
  return sql`
    select ${table.name} ${as('lock_name')}, ${table.lockedBy} ${as('owner')},
      ${dialect.epochMilliseconds(table.lockedAt)} ${as('locked_at')},
      ${dialect.epochMilliseconds(table.lockUntil)} ${as('lock_until')},
      ${dialect.epochMilliseconds(dialect.now)} ${as('now')},
      case when ${table.lockUntil} > ${dialect.now} then 1 else 0 end ${as('is_held')}
    from ${table.table} order by ${table.name}`
}

function isNamed(dialect: Dialect, table: LockTable): Statement {
  return sql`${table.name} = ${dialect.text(name)}`
}

function isMine(dialect: Dialect, table: LockTable): Statement {
  return sql`${isNamed(dialect, table)} and ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

function isHeldByMe(dialect: Dialect, table: LockTable): Statement {
  return sql`${isMine(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}

function columns(table: LockTable): Statement {
  return sql`${table.name}, ${table.lockUntil}, ${table.lockedAt}, ${table.lockedBy}`
}

function newRow(dialect: Dialect): Statement {
  return sql`${dialect.text(name)}, ${dialect.plus(dialect.now, lockAtMostFor)}, ${dialect.now}, ${dialect.text(lockedBy)}`
}

/** The clock is read here again, not taken from the proposed row: that one is old when the row was waited for. */
function assignments(dialect: Dialect, table: LockTable): Statement {
  return sql`${table.lockUntil} = ${dialect.plus(dialect.now, lockAtMostFor)}, ${table.lockedAt} = ${dialect.now}, ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

function onConflictTakeExpired(dialect: Dialect, table: LockTable): Statement {
  return sql`on conflict (${table.name}) do update set ${assignments(dialect, table)} where ${raw('held')}.${table.lockUntil} <= ${dialect.now}`
}
