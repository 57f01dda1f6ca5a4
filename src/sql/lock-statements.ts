import { anyTime, forSlot } from './claim'
import type { AcquireStep, Claim, Dialect, LockStatementForm, Pin } from './dialect'
import { isHeldByMe, isNamed } from './lock-row'
import type { LockTable } from './lock-table'
import { parameter, raw, sql, type Statement } from './statement'

/** All that the lock says to the database, once and for every dialect. `lock_until <= now` is free, `lock_until > now` is held. */
export interface LockStatements {
  readonly acquire: readonly AcquireStep[]
  /** The same for a slot, which is taken only if `locked_at` is before it. */
  readonly acquireSlot: readonly AcquireStep[]
  /** Prolongs the lease and never shortens it. It changes the row in any case, because some clients count only changes. */
  readonly extend: Statement
  /** Ends the lease, and changes the owner: no earlier statement of that owner finds the row. */
  readonly unlock: Statement
  /** The same, but not before `lockAtLeastFor` after `locked_at`; never later than the lease would have ended. */
  readonly unlockAtLeast: Statement
  /** The same at once, for a holder that did not use the lock: its slot can be given again. Tokens still grow. */
  readonly giveBack: Statement
  /**
   * Takes a row that is free and leaves `locked_at` as it is: a pause is no run. Done twice, it changes the row twice, and no
   * more than done once.
   */
  readonly pause: Statement
  /** Reads the fencing token, `locked_at` in milliseconds since 1970, while the lock is held. */
  readonly fencingToken: Statement
  /** For the caller's own transaction. */
  readonly pin: Pin
  /** All rows, with times as milliseconds since 1970. */
  readonly list: Statement
  readonly describe: Statement
}

const name = parameter('name')
const lockedBy = parameter('lockedBy')
const lockAtMostFor = parameter('lockAtMostFor')
const lockAtLeastFor = parameter('lockAtLeastFor')
const unlockedBy = parameter('unlockedBy')

/** The statements of one lock table in the words of one dialect. Pure; make them once for each table. */
export function lockStatements(dialect: Dialect, table: LockTable): LockStatements {
  const { lockUntil } = table
  const held = isHeldByMe(dialect, table)
  const asked = dialect.plus(dialect.now, lockAtMostFor)
  const atLeast = dialect.plus(table.lockedAt, lockAtLeastFor)
  const counted = dialect.counted ?? ((statement: Statement): Statement => statement)
  const unlock = (until: Statement, more = sql``): Statement => {
    const assignments = sql`${lockUntil} = ${until}, ${table.lockedBy} = ${dialect.text(unlockedBy)}${more}`
    return counted((dialect.unlock ?? update)(table.table, assignments, held))
  }
  return {
    acquire: dialect.acquire.map((form) => form(dialect, table, anyTime)),
    acquireSlot: dialect.acquire.map((form) => form(dialect, table, forSlot)),
    extend: counted(
      update(
        table.table,
        sql`${lockUntil} = case when ${asked} > ${lockUntil} then ${asked} else ${dialect.plus(lockUntil, raw('1'))} end`,
        held,
      ),
    ),
    unlock: unlock(dialect.now),
    unlockAtLeast: unlock(
      sql`case when ${atLeast} <= ${dialect.now} then ${dialect.now} when ${atLeast} < ${lockUntil} then ${atLeast} else ${lockUntil} end`,
    ),
    giveBack: unlock(dialect.now, sql`, ${table.lockedAt} = ${dialect.plus(table.lockedAt, raw('-1'))}`),
    pause: counted(
      update(
        table.table,
        sql`${lockUntil} = ${asked}, ${table.lockedBy} = ${dialect.text(lockedBy)}`,
        sql`${isNamed(dialect, table)} and (${lockUntil} <= ${dialect.now} or ${table.lockedBy} = ${dialect.text(lockedBy)})`,
      ),
    ),
    fencingToken: sql`select ${dialect.epochMilliseconds(table.lockedAt)} as ${raw(dialect.quote('token'))} from ${table.table} where ${held}`,
    pin: dialect.pin(dialect, table),
    list: list(dialect, table),
    describe: describeTable(dialect, table),
  }
}

/** Finds the columns of this table; binds `schema` and `table`. */
export function describeTable(dialect: Dialect, { names }: LockTable): Statement {
  const nameless = names.schema === undefined ? dialect.defaultSchema : undefined
  return dialect.describe(nameless ?? parameter('schema'), parameter('table'))
}

function update(table: Statement, assignment: Statement, condition: Statement): Statement {
  return sql`update ${table} set ${assignment} where ${condition}`
}

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
