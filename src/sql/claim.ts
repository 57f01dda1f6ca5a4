import type { Claim, Dialect } from './dialect'
import { isNamed } from './lock-row'
import type { LockTable } from './lock-table'
import { parameter, raw, sql, type Statement } from './statement'

/** For a lock without a slot. `locked_at` is now, or a millisecond after the one before, if that is not past. */
export const anyTime: Claim = {
  isFree: (dialect, { lockUntil }) => sql`${lockUntil} <= ${dialect.now}`,
  lockedAt: (dialect, { lockedAt }) =>
    sql`case when ${lockedAt} < ${dialect.now} then ${dialect.now} else ${dialect.plus(lockedAt, raw('1'))} end`,
  firstLockedAt: (dialect) => dialect.now,
  look: (dialect, table) =>
    sql`select 1 from ${table.table} where ${isNamed(dialect, table)} and ${table.lockUntil} > ${dialect.now}`,
  // A row that is there and was not taken is held.
  lookAgain: (dialect, table) => sql`select 1 from ${table.table} where ${isNamed(dialect, table)}`,
}

const slotOf = (dialect: Dialect): Statement => dialect.plus(dialect.epoch, parameter('slot'))

/**
 * The aggregates make one row of none, so that a slot that is too far ahead is seen before there is a row. What most callers hear
 * comes first: times are made of texts and functions, and cost more than the rest on some databases.
 */
function lookForSlot(dialect: Dialect, table: LockTable): Statement {
  const slot = slotOf(dialect)
  return sql`
    select case when max(${table.lockUntil}) > ${dialect.now} then 'held'
      when max(${table.lockedAt}) >= ${slot} then 'already-run'
      when ${slot} > ${dialect.plus(dialect.now, parameter('slotAtMostAhead'))} then 'ahead'
      else 'free' end as ${raw(dialect.quote('outcome'))}
    from ${table.table} where ${isNamed(dialect, table)}`
}

/** For a slot, which is given once, and never after a later one: whoever takes it leaves it in `locked_at`. */
export const forSlot: Claim = {
  isFree: (dialect, row) => sql`${anyTime.isFree(dialect, row)} and ${row.lockedAt} < ${slotOf(dialect)}`,
  lockedAt: slotOf,
  firstLockedAt: slotOf,
  look: lookForSlot,
  lookAgain: lookForSlot,
}
