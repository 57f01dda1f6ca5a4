import { LAST_TIME } from '../core/internal'
import { updateAgain } from './acquire'
import type { Dialect } from './dialect'
import { as, isOwnHeldRow, isOwnRow, isNamed, textAs, readOnlyColumn } from './expressions'
import { parameter, raw, sql, type Sql } from './sql'
import type { TableSql } from './table/names'

export type LockStatements = ReturnType<typeof lockStatements>

/**
 * Creates the statements of one lock table in one dialect. A lock is free if `lock_until <= now`, and held if `lock_until > now`.
 * Pure; call it once for each table.
 */
export function lockStatements(dialect: Dialect, lock: TableSql) {
  const { table, lockUntil, lockedAt, lockedBy } = lock
  const { now } = dialect
  const held = isOwnHeldRow(dialect, lock)
  const extended = dialect.plus(now, parameter('lockAtMostFor'))
  const later = dialect.plus(now, parameter('keepFor'))
  const counted = dialect.counted ?? ((statement: Sql): Sql => statement)
  const update = (assignments: Sql, condition: Sql): Sql =>
    counted(plainUpdate(table, assignments, condition))
  const ownRow = isOwnRow(dialect, lock)
  const released = (until: Sql, more = sql``): Sql =>
    sql`${lockUntil} = ${until}, ${lockedBy} = ${dialect.text(parameter('unlockedBy'))}${more}`
  const atLeast = released(sql`case when ${later} < ${lockUntil} then ${later} else ${lockUntil} end`)
  const cheaply = (assignments: Sql): Sql =>
    counted((dialect.release ?? plainUpdate)(table, assignments, ownRow))
  const oneRow = dialect.from ?? raw('')
  return {
    acquire: dialect.acquire(dialect, lock, false),
    /** For a slot: acquires the lock only if `locked_at` is before the slot. */
    acquireSlot: dialect.acquire(dialect, lock, true),
    /** For a slot whose last run did not succeed: acquires the lock only if it is free and its row is still as it was read. */
    acquireAgain: counted(updateAgain(dialect, lock)),
    /** Never shortens the lease. Changes the row in any case, because some clients count only rows whose values change. */
    extend: update(
      sql`${lockUntil} = case when ${extended} > ${lockUntil} then ${extended} else ${dialect.plus(lockUntil, raw('1'))} end`,
      held,
    ),
    /**
     * Also changes the owner, so that no earlier statement of that owner finds the row. Records how the run ended even after the
     * lease, unless another owner has acquired the row since.
     */
    release: cheaply(released(now)),
    /** Releases the lock in `keepFor` milliseconds, but never later than the lease would have ended. */
    releaseLater: cheaply(atLeast),
    /**
     * Like `release`, for a slot: it must survive a crash and a failover, because a later acquisition may depend on how the run
     * ended.
     */
    releaseSlot: update(released(now), ownRow),
    releaseSlotLater: update(atLeast, ownRow),
    /** For a slot whose task never started: lets it be acquired again, even if the lease is over. Tokens still grow. */
    releaseUnused: update(released(now, sql`, ${lockedAt} = ${dialect.plus(lockedAt, raw('-1'))}`), ownRow),
    /**
     * For callers other than the holder: releases the lock only while it is held, and only if its lease ends when it did as the row
     * was read.
     */
    releaseSeen: update(released(now), sql`${held} and ${isUntil(dialect, lock)}`),
    /** Acquires a free row, but leaves `locked_at` as it is, because a pause is not a run. */
    pause: update(
      sql`${lockUntil} = ${extended}, ${lockedBy} = ${dialect.text(parameter('lockedBy'))}`,
      sql`${isNamed(dialect, lock)} and ${lockUntil} <= ${now}`,
    ),
    /** Reads `locked_at` in milliseconds since 1970 while the lock is held, otherwise null. */
    fencingToken: sql`select (select ${dialect.epochMilliseconds(lockedAt)} from ${table} where ${held}) ${as(dialect, 'token')}${readOnlyColumn(dialect)} ${oneRow}`,
    /** Runs in the caller's own transaction. */
    pin: dialect.pin(dialect, lock),
    list: readLocks(dialect, lock, sql`1 = 1`, sql`order by ${lock.name}`),
    /** Reads the row whose name is equal to this name by the rules of the database. */
    find: readLocks(dialect, lock, isNamed(dialect, lock)),
    /** Reads the database's clock in milliseconds since 1970. */
    now: sql`select ${dialect.epochMilliseconds(now)} ${as(dialect, 'now')} ${oneRow}`,
  }
}

/**
 * Compares the end of the lease with `seenUntil`, within a millisecond: some databases round microseconds, others cut them. A value
 * that is not a time was read as the end of the calendar, so it is compared as that.
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
 * Reads rows for `lockRecords`. If there are none, and the database can be a standby, the result is one row without a name that
 * reports whether it is, because a new row may still be missing there.
 */
function readLocks(dialect: Dialect, table: TableSql, condition: Sql, order = sql``): Sql {
  if (!dialect.readOnly) return readRows(dialect, table, sql`where ${condition} ${order}`)
  const unknown = sql`case when ${table.name} is null then ${dialect.readOnly} else 0 end`
  const one = sql`(select 1 as shedlock_one ${dialect.from ?? raw('')}) shedlock_one`
  return sql`
    select ${recordColumns(dialect, table)}${readOnlyColumn(dialect, unknown)}
    from ${one} left join ${table.table} on ${condition} ${order}`
}

/**
 * Reads rows for `lockRecords`. `lock_until` may be null; a row that cannot be acquired counts as held.
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
