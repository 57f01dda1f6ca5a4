import { isHeldByMe, type Expressions } from './expressions'
import { raw, sql, type Sql } from './sql'
import type { TableSql } from './table-names'

/** Finds (`read`) or changes (`write`) one row if the lock is ours and its lease not over, and none otherwise. */
export interface Pin {
  readonly kind: 'read' | 'write'
  readonly statement: Sql
}

interface LockingRead {
  /** What to read of the row. */
  readonly column?: (dialect: Expressions, table: TableSql) => Sql
  /** Stands behind the table's name. */
  readonly hint?: string
  /** Stands at the end. */
  readonly clause?: string
}

/** Pins the row with a read that locks it. */
export const pinByRead =
  ({ column = () => raw('1'), hint = '', clause = '' }: LockingRead) =>
  (dialect: Expressions, table: TableSql): Pin => ({
    kind: 'read',
    statement: sql`select ${column(dialect, table)} from ${table.table} ${raw(hint)} where ${isHeldByMe(dialect, table)} ${raw(clause)}`,
  })

/** Pins the row by writing it as it is, where no read keeps others out. */
export const pinByWrite = (dialect: Expressions, table: TableSql): Pin => ({
  kind: 'write',
  statement: sql`update ${table.table} set ${table.lockedBy} = ${table.lockedBy} where ${isHeldByMe(dialect, table)}`,
})
