import type { Dialect, LockTable } from './dialect'
import { as, isHeldByMe, isMine, isNamed, updateAgain } from './fragments'
import { parameter, raw, sql, type Statement } from './statement'

export type LockStatements = ReturnType<typeof lockStatements>

/**
 * The statements of one lock table in one dialect. `lock_until <= now` is free, `lock_until > now` is held. Pure; make them once
 * for each table.
 */
export function lockStatements(dialect: Dialect, lock: LockTable) {
  const { table, lockUntil, lockedAt, lockedBy, names } = lock
  const { now } = dialect
  const held = isHeldByMe(dialect, lock)
  const extended = dialect.plus(now, parameter('lockAtMostFor'))
  const later = dialect.plus(now, parameter('keepFor'))
  const counted = dialect.counted ?? ((statement: Statement): Statement => statement)
  const update = (assignments: Statement, condition: Statement): Statement =>
    counted(plainUpdate(table, assignments, condition))
  const mine = isMine(dialect, lock)
  const release = (until: Statement, more = sql``, condition = mine): Statement => {
    const assignments = sql`${lockUntil} = ${until}, ${lockedBy} = ${dialect.text(parameter('unlockedBy'))}${more}`
    return counted((dialect.release ?? plainUpdate)(table, assignments, condition))
  }
  const nameless = names.schema === undefined ? dialect.defaultSchema : undefined
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
     * the row since, the owner still tells how its run ended.
     */
    release: release(now),
    /** In `keepFor` milliseconds, but never later than the lease would have ended. */
    releaseLater: release(sql`case when ${later} < ${lockUntil} then ${later} else ${lockUntil} end`),
    /** For a slot whose task never began: it can be acquired again, even if the lease is over. Tokens still grow. */
    releaseUnused: release(now, sql`, ${lockedAt} = ${dialect.plus(lockedAt, raw('-1'))}`),
    /** Only while the lease lasts: for those who are not the holder. */
    releaseHeld: release(now, sql``, held),
    /** Acquires a row that is free and leaves `locked_at` as it is: a pause is no run. */
    pause: update(
      sql`${lockUntil} = ${extended}, ${lockedBy} = ${dialect.text(parameter('lockedBy'))}`,
      sql`${isNamed(dialect, lock)} and ${lockUntil} <= ${now}`,
    ),
    /** `locked_at` in milliseconds since 1970, while the lock is held. */
    fencingToken: sql`select ${dialect.epochMilliseconds(lockedAt)} ${as(dialect, 'token')} from ${table} where ${held}`,
    /** For the caller's own transaction. */
    pin: dialect.pin(dialect, lock),
    list: readRows(dialect, lock, sql`order by ${lock.name}`),
    /** The row whose name the database treats as equal to this name. */
    find: readRows(dialect, lock, sql`where ${isNamed(dialect, lock)}`),
    /** The database's clock in milliseconds since 1970. */
    now: sql`select ${dialect.epochMilliseconds(now)} ${as(dialect, 'now')} ${dialect.inspection?.from ?? raw('')}`,
    /** The columns of the table. */
    describe: dialect.describe(nameless ?? parameter('schema'), parameter('table')),
  }
}

function plainUpdate(table: Statement, assignments: Statement, condition: Statement): Statement {
  return sql`update ${table} set ${assignments} where ${condition}`
}

/**
 * Reads rows as `lockRecord` wants them; `lock_until` may be null, and a row that cannot be acquired is held.
 *
 * @param which the conditions or the order, after `from`
 */
export function readRows(dialect: Dialect, table: LockTable, which: Statement): Statement {
  const milliseconds = (time: Statement): Statement => dialect.epochMilliseconds(time)
  return sql`
    select ${table.name} ${as(dialect, 'lock_name')}, ${table.lockedBy} ${as(dialect, 'owner')},
      ${milliseconds(table.lockedAt)} ${as(dialect, 'locked_at')},
      ${milliseconds(table.lockUntil)} ${as(dialect, 'lock_until')},
      ${milliseconds(dialect.now)} ${as(dialect, 'now')},
      case when ${table.lockUntil} <= ${dialect.now} then 0 else 1 end ${as(dialect, 'is_held')}
    from ${table.table} ${which}`
}
