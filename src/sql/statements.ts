import type { AcquireStep, Dialect, LockTable, Pin } from './dialect'
import { as, isHeldByMe, isMine, isNamed, updateAgain } from './fragments'
import { parameter, raw, sql, type Statement } from './statement'

/** All statements of one lock table. `lock_until <= now` is free, `lock_until > now` is held. */
export interface LockStatements {
  readonly acquire: readonly AcquireStep[]
  /** The same for a slot, which is acquired only if `locked_at` is before it. */
  readonly acquireSlot: readonly AcquireStep[]
  /** Prolongs the lease and never shortens it. It changes the row in any case, because some clients count only changes. */
  readonly extend: Statement
  /**
   * The same for a slot whose last run did not succeed, if the row is still as it was seen: free, and that run's.
   */
  readonly acquireAgain: Statement
  /**
   * Ends the lease, and changes the owner: no earlier statement of that owner finds the row. If the lease is over, and nobody
   * has acquired the row since, the owner still tells how its run ended.
   */
  readonly release: Statement
  /** The same in `keepFor` milliseconds, but never later than the lease would have ended. */
  readonly releaseLater: Statement
  /** The same for a slot whose task never began: it can be acquired again, even if the lease is over. Tokens still grow. */
  readonly releaseUnused: Statement
  /** Ends the lease only while it lasts: for those who are not the holder. */
  readonly releaseHeld: Statement
  /** Acquires a row that is free and leaves `locked_at` as it is: a pause is no run. */
  readonly pause: Statement
  /** Reads the fencing token, `locked_at` in milliseconds since 1970, while the lock is held. */
  readonly fencingToken: Statement
  /** For the caller's own transaction. */
  readonly pin: Pin
  /** All rows, with times as milliseconds since 1970. */
  readonly list: Statement
  /** The same for the row whose name the database treats as equal to this name. */
  readonly find: Statement
  /** The database's clock in milliseconds since 1970. */
  readonly now: Statement
  /** The columns of the table; binds `schema` and `table`. */
  readonly describe: Statement
}

const extendedFor = parameter('lockAtMostFor')
const keptFor = parameter('keepFor')

/** The statements of one lock table in one dialect. Pure; make them once for each table. */
export function lockStatements(dialect: Dialect, lock: LockTable): LockStatements {
  const { table, lockUntil, lockedAt, lockedBy, names } = lock
  const { now } = dialect
  const held = isHeldByMe(dialect, lock)
  const extended = dialect.plus(now, extendedFor)
  const later = dialect.plus(now, keptFor)
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
    acquireSlot: dialect.acquire(dialect, lock, true),
    acquireAgain: counted(updateAgain(dialect, lock)),
    extend: update(
      sql`${lockUntil} = case when ${extended} > ${lockUntil} then ${extended} else ${dialect.plus(lockUntil, raw('1'))} end`,
      held,
    ),
    release: release(now),
    releaseLater: release(sql`case when ${later} < ${lockUntil} then ${later} else ${lockUntil} end`),
    releaseUnused: release(now, sql`, ${lockedAt} = ${dialect.plus(lockedAt, raw('-1'))}`),
    releaseHeld: release(now, sql``, held),
    pause: update(
      sql`${lockUntil} = ${extended}, ${lockedBy} = ${dialect.text(parameter('lockedBy'))}`,
      sql`${isNamed(dialect, lock)} and ${lockUntil} <= ${now}`,
    ),
    fencingToken: sql`select ${dialect.epochMilliseconds(lockedAt)} ${as(dialect, 'token')} from ${table} where ${held}`,
    pin: dialect.pin(dialect, lock),
    list: readRows(dialect, lock, sql`order by ${lock.name}`),
    find: readRows(dialect, lock, sql`where ${isNamed(dialect, lock)}`),
    now: sql`select ${dialect.epochMilliseconds(now)} ${as(dialect, 'now')} ${dialect.inspection?.from ?? raw('')}`,
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
