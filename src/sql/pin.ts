import type { LockSql } from './expressions'
import { raw, sql, type Sql } from './sql'

/** Finds (`read`) or changes (`write`) one row if this acquisition still holds the lock, and none otherwise. */
export interface Pin {
  readonly kind: 'read' | 'write'
  readonly statement: Sql
}

interface LockingRead {
  /** What to read from the row. */
  readonly column?: (lock: LockSql) => Sql
  /** Follows the table's name. */
  readonly hint?: string
  /** Ends the statement. */
  readonly clause?: string
}

/** Pins the row with a read that locks it. */
export const pinByRead =
  ({ column = () => raw('1'), hint = '', clause = '' }: LockingRead) =>
  (lock: LockSql): Pin => ({
    kind: 'read',
    statement: sql`select ${column(lock)} from ${lock.table} ${raw(hint)} where ${lock.isOwnHeld} ${raw(clause)}`,
  })

/** Pins the row by writing it unchanged, where no read keeps other sessions out. */
export const pinByWrite = ({ table, lockedBy, isOwnHeld }: LockSql): Pin => ({
  kind: 'write',
  statement: sql`update ${table} set ${lockedBy} = ${lockedBy} where ${isOwnHeld}`,
})
