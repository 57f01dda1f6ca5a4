import { isOwnHeldRow, type Expressions } from './expressions'
import { raw, sql, type Sql } from './sql'
import type { TableSql } from './table/names'

/** Finds (`read`) or changes (`write`) one row if this acquisition still holds the lock, and none otherwise. */
export interface Pin {
  readonly kind: 'read' | 'write'
  readonly statement: Sql
}

interface LockingRead {
  /** What to read from the row. */
  readonly column?: (dialect: Expressions, table: TableSql) => Sql
  /** Follows the table's name. */
  readonly hint?: string
  /** Ends the statement. */
  readonly clause?: string
}

/** Pins the row with a read that locks it. */
export const pinByRead =
  ({ column = () => raw('1'), hint = '', clause = '' }: LockingRead) =>
  (dialect: Expressions, table: TableSql): Pin => ({
    kind: 'read',
    statement: sql`select ${column(dialect, table)} from ${table.table} ${raw(hint)} where ${isOwnHeldRow(dialect, table)} ${raw(clause)}`,
  })

/** Pins the row by writing it unchanged, where no read keeps other sessions out. */
export const pinByWrite = (dialect: Expressions, table: TableSql): Pin => ({
  kind: 'write',
  statement: sql`update ${table.table} set ${table.lockedBy} = ${table.lockedBy} where ${isOwnHeldRow(dialect, table)}`,
})
