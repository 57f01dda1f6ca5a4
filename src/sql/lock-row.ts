import type { Dialect } from './dialect'
import type { LockTable } from './lock-table'
import { parameter, sql, type Statement } from './statement'

const name = parameter('name')
const lockedBy = parameter('lockedBy')

/** The row of this lock. */
export function isNamed(dialect: Dialect, table: LockTable): Statement {
  return sql`${table.name} = ${dialect.text(name)}`
}

export function isMine(dialect: Dialect, table: LockTable): Statement {
  return sql`${isNamed(dialect, table)} and ${table.lockedBy} = ${dialect.text(lockedBy)}`
}

export function isHeldByMe(dialect: Dialect, table: LockTable): Statement {
  return sql`${isMine(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}
