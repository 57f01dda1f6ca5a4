import type { LockSql } from './expressions'
import { sql, type Sql } from './sql'

/** Finds (`read`) or changes (`write`) one row if this acquisition still holds the lock, and none otherwise. */
export interface Pin {
  readonly kind: 'read' | 'write'
  readonly statement: Sql
}

/** Pins the row with a read that locks it. */
export const pinByRead =
  (statement: (lock: LockSql) => Sql) =>
  (lock: LockSql): Pin => ({ kind: 'read', statement: statement(lock) })

/** Pins the row by writing it unchanged, where no read keeps other sessions out. */
export const pinByWrite = ({ table, lockedBy, isOwnHeld }: LockSql): Pin => ({
  kind: 'write',
  statement: sql`update ${table} set ${lockedBy} = ${lockedBy} where ${isOwnHeld}`,
})
