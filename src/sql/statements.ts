import { LAST_TIME } from '../core/internal'
import { updateAgain } from './acquire'
import type { Dialect } from './dialect'
import { as, isAmong, isHeldByMe, isMine, isNamed, textAs, readOnlyColumn } from './expressions'
import { parameter, raw, sql, type Sql } from './sql'
import type { TableSql } from './table-names'

export type LockStatements = ReturnType<typeof lockStatements>

/**
 * The statements of one lock table in one dialect. `lock_until <= now` is free, `lock_until > now` is held. Pure; make them once
 * for each table.
 */
export function lockStatements(dialect: Dialect, lock: TableSql) {
  const { table, lockUntil, lockedAt, lockedBy, names } = lock
  const { now } = dialect
  const held = isHeldByMe(dialect, lock)
  const extended = dialect.plus(now, parameter('lockAtMostFor'))
  const later = dialect.plus(now, parameter('keepFor'))
  const counted = dialect.counted ?? ((statement: Sql): Sql => statement)
  const update = (assignments: Sql, condition: Sql): Sql =>
    counted(plainUpdate(table, assignments, condition))
  const mine = isMine(dialect, lock)
  const released = (until: Sql, more = sql``): Sql =>
    sql`${lockUntil} = ${until}, ${lockedBy} = ${dialect.text(parameter('unlockedBy'))}${more}`
  const atLeast = released(sql`case when ${later} < ${lockUntil} then ${later} else ${lockUntil} end`)
  const cheaply = (assignments: Sql): Sql =>
    counted((dialect.release ?? plainUpdate)(table, assignments, mine))
  const oneRow = dialect.inspection?.from ?? raw('')
  const nameless = names.schema === undefined ? dialect.shape.defaultSchema : undefined
  return {
    acquire: dialect.acquire(dialect, lock, false),
    /** For a slot, which is acquired only if `locked_at` is before it. */
    acquireSlot: dialect.acquire(dialect, lock, true),
    /** For a slot whose last run did not succeed, if the row is still as it was seen: free, and that run's. */
    acquireAgain: counted(updateAgain(dialect, lock)),
    /** Never shortens the lease. It changes the row in any case, because some clients count only changes. */
    extend: update(
      sql`${lockUntil} = case when ${extended} > ${lockUntil} then ${extended} else ${dialect.plus(lockUntil, raw('1'))} end`,
      held,
    ),
    /**
     * Changes the owner as well: no earlier statement of that owner finds the row. If the lease is over, and nobody has acquired
     * the row since, the owner still records how its run ended.
     */
    release: cheaply(released(now)),
    /** In `keepFor` milliseconds, but never later than the lease would have ended. */
    releaseLater: cheaply(atLeast),
    /** The same for a slot. A later acquisition may depend on how its run ended, so this must survive a crash and a failover. */
    releaseSlot: update(released(now), mine),
    releaseSlotLater: update(atLeast, mine),
    /** For a slot whose task never began: it can be acquired again, even if the lease is over. Tokens still grow. */
    releaseUnused: update(released(now, sql`, ${lockedAt} = ${dialect.plus(lockedAt, raw('-1'))}`), mine),
    /** For those who are not the holder: only while the lease lasts, and only if it ends when it did as the row was read. */
    releaseSeen: update(released(now), sql`${held} and ${isUntil(dialect, lock)}`),
    /** Acquires a row that is free and leaves `locked_at` as it is: a pause is no run. */
    pause: update(
      sql`${lockUntil} = ${extended}, ${lockedBy} = ${dialect.text(parameter('lockedBy'))}`,
      sql`${isNamed(dialect, lock)} and ${lockUntil} <= ${now}`,
    ),
    /** `locked_at` in milliseconds since 1970, while the lock is held, else null. */
    fencingToken: sql`select (select ${dialect.epochMilliseconds(lockedAt)} from ${table} where ${held}) ${as(dialect, 'token')}${readOnlyColumn(dialect)} ${oneRow}`,
    /** For the caller's own transaction. */
    pin: dialect.pin(dialect, lock),
    list: readLocks(dialect, lock, sql`1 = 1`, sql`order by ${lock.name}`),
    /** The row whose name the database treats as equal to this name. */
    find: readLocks(dialect, lock, isNamed(dialect, lock)),
    findSeveral: readLocks(dialect, lock, isAmong(dialect, lock)),
    /** The database's clock in milliseconds since 1970. */
    now: sql`select ${dialect.epochMilliseconds(now)} ${as(dialect, 'now')} ${oneRow}`,
    /** The columns of the table. */
    describe: dialect.shape.describe(nameless ?? parameter('schema'), parameter('table')),
    /** Where else there is such a table. */
    ...(dialect.shape.schemasOf && { schemasOf: dialect.shape.schemasOf(parameter('table')) }),
  }
}

/**
 * Whether the lease ends at `seenUntil`. Some databases round a time of microseconds to milliseconds, others cut it, and a time that
 * is none was read as the end of the calendar.
 */
function isUntil(dialect: Dialect, { lockUntil }: TableSql): Sql {
  const until = sql`coalesce(${dialect.epochMilliseconds(lockUntil)}, ${raw(String(LAST_TIME))})`
  const seen = dialect.epochMilliseconds(dialect.plus(dialect.epoch, parameter('seenUntil')))
  return sql`abs(${until} - (${seen})) < 1`
}

function plainUpdate(table: Sql, assignments: Sql, condition: Sql): Sql {
  return sql`update ${table} set ${assignments} where ${condition}`
}

/**
 * Reads rows as `lockRecords` wants them. If there is none, one comes without a name, where it can say that its server is a standby:
 * there the row may be missing because it is new.
 */
function readLocks(dialect: Dialect, table: TableSql, condition: Sql, order = sql``): Sql {
  if (!dialect.readOnly) return readRows(dialect, table, sql`where ${condition} ${order}`)
  const unknown = sql`case when ${table.name} is null then ${dialect.readOnly} else 0 end`
  const one = sql`(select 1 as shedlock_one ${dialect.inspection?.from ?? raw('')}) shedlock_one`
  return sql`
    select ${recordColumns(dialect, table)}${readOnlyColumn(dialect, unknown)}
    from ${one} left join ${table.table} on ${condition} ${order}`
}

/**
 * Reads rows as `lockRecords` wants them; `lock_until` may be null, and a row that cannot be acquired is held.
 *
 * @param which the conditions or the order, after `from`
 */
export function readRows(dialect: Dialect, table: TableSql, which: Sql): Sql {
  return sql`select ${recordColumns(dialect, table)} from ${table.table} ${which}`
}

function recordColumns(dialect: Dialect, table: TableSql): Sql {
  const milliseconds = (time: Sql): Sql => dialect.epochMilliseconds(time)
  return sql`${textAs(dialect, table.name, 'lock_name')}, ${textAs(dialect, table.lockedBy, 'owner')},
      ${milliseconds(table.lockedAt)} ${as(dialect, 'locked_at')},
      ${milliseconds(table.lockUntil)} ${as(dialect, 'lock_until')},
      ${milliseconds(dialect.now)} ${as(dialect, 'now')},
      case when ${table.lockUntil} <= ${dialect.now} then 0 else 1 end ${as(dialect, 'is_held')}`
}
