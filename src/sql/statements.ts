import { LAST_TIME } from '../core/internal'
import { pinByWrite } from './acquire'
import { MOVED_CLOCK } from './database-errors'
import type { LockDialect } from './dialect'
import {
  as,
  lockSql,
  sessionColumns,
  textAs,
  unfitColumn,
  updateLock,
  type LockSql,
  type Update,
} from './expressions'
import type { TableSql } from './names'
import { COLUMN } from './results'
import { parameter, raw, sql, type Sql } from './sql'

export type LockStatements = ReturnType<typeof lockStatements>

/**
 * Creates the statements of one lock table in one dialect. A lock is free if `lock_until <= now`, and held if `lock_until > now`.
 * Pure; call it once for each table. MySQL assigns from left to right, so no assignment reads a column that an earlier one has set.
 */
export function lockStatements(dialect: LockDialect, tableSql: TableSql) {
  const lock = lockSql(dialect, tableSql)
  const { table, lockUntil, lockedAt, lockedBy, now, isNamed, isOwn, isOwnHeld, commits } = lock
  const kept = dialect.plus(now, parameter('keepFor'))
  const unlockedBy = dialect.text(parameter('unlockedBy'))
  const end = endOfLease(dialect, lock, kept)
  const released = sql`${lockUntil} = ${end}, ${lockedBy} = ${unlockedBy}`
  const counted = dialect.counted ?? ((write: Sql): Sql => write)
  const update = (assignments: Sql, condition: Sql, more?: Pick<Update, 'mayBeLost'>): Sql =>
    counted(updateLock(lock, { assignments, condition: sql`${condition}${commits}`, ...more }))
  const oneRow = dialect.from ?? raw('')
  const slot = dialect.plus(dialect.epoch, parameter('slot'))
  const acquireSlot = dialect.acquire({ ...lock, slot })
  const pauseRow = update(
    sql`${lockUntil} = ${lock.leaseEnd}, ${lockedBy} = ${lock.owner}`,
    sql`${isNamed} and ${lockUntil} <= ${now}`,
  )
  return {
    acquire: dialect.acquire(lock),
    /** For a slot: acquires the lock only if `locked_at` is before the slot. */
    acquireSlot,
    /**
     * For a slot whose last run did not succeed: acquires the lock only if it is free and its row is still as it was read. Compares
     * milliseconds, because that is what was read, and another program's clock may have written microseconds.
     */
    acquireAgain: update(
      sql`${lockUntil} = ${lock.leaseEnd}, ${lockedAt} = ${slot}, ${lockedBy} = ${lock.owner}`,
      sql`
        ${isNamed} and ${lockedBy} = ${dialect.text(parameter('seenBy'))}
        and ${dialect.epochMilliseconds(lockedAt)} = ${parameter('seenAt')} and ${lockUntil} <= ${now}`,
    ),
    /** Never shortens the lease. Changes the row in any case, because some clients count only rows whose values change. */
    extend: update(
      sql`${lockUntil} = case when ${lock.leaseEnd} > ${lockUntil} then ${lock.leaseEnd} else ${dialect.plus(lockUntil, raw('1'))} end`,
      isOwnHeld,
    ),
    /**
     * Releases the lock in `keepFor` milliseconds, but never later than the lease would have ended. Also changes the owner, so that
     * no earlier statement of that owner finds the row. Records how the run ended even after the lease, unless another owner has
     * acquired the row since.
     */
    release: update(released, isOwn, { mayBeLost: true }),
    /**
     * Like `release`, for a slot: it must survive a crash and a failover, because a later acquisition may depend on how the run
     * ended.
     */
    releaseSlot: update(released, isOwn),
    /**
     * For a slot whose task never started: like `releaseSlot`, and lets the slot be acquired again, even if the lease is over.
     * Tokens still grow.
     */
    releaseUnused: update(sql`${released}, ${lockedAt} = ${dialect.plus(lockedAt, raw('-1'))}`, isOwn),
    /**
     * For callers other than the holder: releases the lock only while it is held, and only if its lease ends when it did as the row
     * was read.
     */
    releaseSeen: update(
      sql`${lockUntil} = ${now}, ${lockedBy} = ${unlockedBy}`,
      sql`${isOwnHeld} and ${isUntil(dialect, lock)}`,
    ),
    /**
     * The steps to a pause. The first acquires a free row, but leaves `locked_at` as it is, because a pause is not a run. The others
     * insert a row if there is none, for the slot `NEVER_ACQUIRED`, before which no row was acquired.
     */
    pause: [{ answer: 'acquired', statement: pauseRow }, ...acquireSlot] as const,
    /** Reads `locked_at` in milliseconds since 1970 while the lock is held, otherwise null. */
    fencingToken: sql`
      select (select ${dialect.epochMilliseconds(lockedAt)} from ${table} where ${isOwnHeld}) ${as(dialect, COLUMN.token)}${sessionColumns(dialect, dialect.readOnly, dialect.joined)}
      ${oneRow}`,
    /** Returns a row unless another session has locked that of the lock. */
    rowIfUnlocked: dialect.rowIfUnlocked?.(lock) ?? sql`select 1 as shedlock_one ${oneRow}`,
    /** Runs in the caller's own transaction. */
    pin: dialect.pin({ ...lock, isOwnHeld: sql`${lock.isOwnHeld}${isByServerClock(dialect)}` }),
    /** If that found nothing: writes the row as it is, which fails if it has changed since the snapshot of the transaction. */
    pinOwn: pinByWrite({ ...lock, isOwnHeld: lock.isOwn }).statement,
    list: readLocks(dialect, lock, sql`1 = 1`, sql`order by ${lock.name}`),
    /** Reads the row whose name is equal to this name by the rules of the database. */
    find: readLocks(dialect, lock, isNamed),
    /** Reads the database's clock in milliseconds since 1970. */
    now: sql`select ${dialect.epochMilliseconds(now)} ${as(dialect, COLUMN.now)}${unfitColumn(dialect)} ${oneRow}`,
  }
}

/** Ends a condition that compares a time with the clock of the session, which may be another one than the server's. */
function isByServerClock({ unfit }: LockDialect): Sql {
  return unfit ? sql` and ${unfit} <> ${raw(String(MOVED_CLOCK))}` : sql``
}

/**
 * When a lease ends that is released: after `keepFor`, but never later than it would have ended. Where a session may have another clock,
 * the lease ends no later than by the holder's own clock.
 */
function endOfLease(dialect: LockDialect, { now, lockUntil }: LockSql, kept: Sql): Sql {
  if (dialect.unfit) {
    const byHolder = dialect.plus(lockUntil, sql`(0 - ${parameter('unexpired')})`)
    return sql`case when ${kept} < ${byHolder} then ${kept} else ${byHolder} end`
  }
  return sql`case when ${kept} < ${lockUntil} then ${kept} when ${lockUntil} > ${now} then ${lockUntil} else ${now} end`
}

/**
 * Compares the end of the lease with `seenUntil`, within a millisecond: some databases round microseconds, others cut them. A value
 * that is not a time was read as the end of the calendar, so it is compared as that.
 */
function isUntil(dialect: LockDialect, { lockUntil }: TableSql): Sql {
  const until = sql`coalesce(${dialect.epochMilliseconds(lockUntil)}, ${raw(String(LAST_TIME))})`
  const seen = dialect.epochMilliseconds(dialect.plus(dialect.epoch, parameter('seenUntil')))
  return sql`abs(${until} - (${seen})) < 1`
}

/**
 * Reads rows for `lockRecords`. If there are none, and the database can be a standby, the result is one row without a name that
 * reports whether it is, because a new row may still be missing there.
 */
function readLocks(dialect: LockDialect, table: TableSql, condition: Sql, order = sql``): Sql {
  if (!dialect.readOnly) return readRows(dialect, table, sql`where ${condition} ${order}`)
  const unknown = sql`case when ${table.name} is null then ${dialect.readOnly} else 0 end`
  const one = sql`(select 1 as shedlock_one ${dialect.from ?? raw('')}) shedlock_one`
  return sql`
    select ${recordColumns(dialect, table)}${sessionColumns(dialect, unknown)}
    from ${one} left join ${table.table} on ${condition} ${order}`
}

/**
 * Reads rows for `lockRecords`. `lock_until` may be null; a row that cannot be acquired counts as held.
 *
 * @param which the conditions or the order, after `from`
 */
export function readRows(dialect: LockDialect, table: TableSql, which: Sql): Sql {
  return sql`select ${recordColumns(dialect, table)} from ${table.table} ${which}`
}

function recordColumns(dialect: LockDialect, table: TableSql): Sql {
  const milliseconds = (time: Sql): Sql => dialect.epochMilliseconds(time)
  return sql`${textAs(dialect, table.name, COLUMN.lockName)}, ${textAs(dialect, table.lockedBy, COLUMN.owner)},
      ${milliseconds(table.lockedAt)} ${as(dialect, COLUMN.lockedAt)},
      ${milliseconds(table.lockUntil)} ${as(dialect, COLUMN.lockUntil)},
      ${milliseconds(dialect.now)} ${as(dialect, COLUMN.now)},
      case when ${table.lockUntil} <= ${dialect.now} then 0 else 1 end ${as(dialect, COLUMN.isHeld)}`
}
