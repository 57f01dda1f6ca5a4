import { anyTime, forSlot } from './claim'
import type { AcquireStep, Dialect, Pin } from './dialect'
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
  /** Takes a row that is free and leaves `locked_at` as it is: a pause is no run. */
  readonly pause: Statement
  /** Reads the fencing token, `locked_at` in milliseconds since 1970, while the lock is held. */
  readonly fencingToken: Statement
  /** For the caller's own transaction. */
  readonly pin: Pin
  /** All rows, with times as milliseconds since 1970. */
  readonly list: Statement
  readonly describe: Statement
}

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
        sql`${isNamed(dialect, table)} and ${lockUntil} <= ${dialect.now}`,
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
