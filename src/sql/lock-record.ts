import type { Row } from './sql-executor'

/** A row of the lock table. All times are the database's. */
export interface LockRecord {
  readonly name: string
  /** Whether the lock is held at `now`; if not, `lockedBy` tells who had it last. */
  readonly held: boolean
  /** The owner: host, process and a random part, unless configured otherwise. */
  readonly lockedBy: string
  readonly lockedAt: Date
  readonly lockUntil: Date
  /** When this was read. */
  readonly now: Date
}

/** @param row as `LockStatements.list` names its columns; drivers give whole numbers as number, bigint or text */
export function lockRecord(row: Row): LockRecord {
  const time = (value: unknown): Date => new Date(Number(value))
  return {
    name: String(row['lock_name']),
    held: Number(row['is_held']) === 1,
    lockedBy: String(row['owner']),
    lockedAt: time(row['locked_at']),
    lockUntil: time(row['lock_until']),
    now: time(row['now']),
  }
}
