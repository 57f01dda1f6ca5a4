import type { Dialect, Pin } from './dialect'
import { isHeldByMe } from './lock-row'
import type { LockTable } from './lock-table'
import { raw, sql, type Statement } from './statement'

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
