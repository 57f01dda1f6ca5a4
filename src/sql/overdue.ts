import type { LockRecord } from './lock-record'
import { NEVER } from './pause'

/** A lock that nobody has taken in time. */
export interface OverdueLock {
  readonly name: string
  /** How long ago it was to be taken at the latest, in milliseconds. */
  readonly limit: number
  /** When it was last taken; `undefined`: never. */
  readonly lockedAt?: Date
  /** How long ago that was, in milliseconds by the database's clock; `undefined`: never. */
  readonly age?: number
}

export function overdueLocks(
  locks: readonly LockRecord[],
  limits: readonly (readonly [name: string, limit: number])[],
): OverdueLock[] {
  const known = new Map(locks.map((lock) => [lock.name, lock]))
  return limits.flatMap(([name, limit]): OverdueLock[] => {
    const lock = known.get(name)
    if (!lock) return [{ name, limit }]
    const { lockedAt, now, paused } = lock
    const age = now.getTime() - lockedAt.getTime()
    if (paused || age <= limit) return []
    return wasTaken(lock) ? [{ name, limit, lockedAt, age }] : [{ name, limit }]
  })
}

/** A row may be there because the lock was paused. */
export function wasTaken({ lockedAt }: LockRecord): boolean {
  return lockedAt.getTime() > NEVER
}
