import type { LockHolder } from '../core'
import { isPause, readableOwner } from './owner'
import type { Row } from './sql-executor'

/** A row of the lock table. All times are the database's. */
export interface LockRecord {
  readonly name: string
  /** Whether the lock is held at `now`; if not, `lockedBy` tells who had it last. */
  readonly held: boolean
  /** Whether it is held by a pause, whose `lockedBy` says who paused it and why. */
  readonly paused: boolean
  /** The owner: host, process and a random part, unless configured otherwise. */
  readonly lockedBy: string
  /** When it was last taken: a pause does not count. The beginning of 1970 for a lock that was paused and never taken. */
  readonly lockedAt: Date
  readonly lockUntil: Date
  /** When this was read. */
  readonly now: Date
}

/** @param row as `LockStatements.list` names its columns; drivers give whole numbers as number, bigint or text */
export function lockRecord(row: Row): LockRecord {
  const time = (value: unknown): Date => new Date(Number(value))
  const held = Number(row['is_held']) === 1
  const lockedBy = String(row['owner'])
  return {
    name: String(row['lock_name']),
    held,
    paused: held && isPause(lockedBy),
    lockedBy,
    lockedAt: time(row['locked_at']),
    lockUntil: time(row['lock_until']),
    now: time(row['now']),
  }
}

/** @param row as the look names its columns; other rows tell nothing of the holder */
export function lockHolder(row: Row): LockHolder | undefined {
  const { owner, lock_until: until } = row
  if (typeof owner !== 'string') return undefined
  return { lockedBy: readableOwner(owner), lockUntil: new Date(Number(until)) }
}
