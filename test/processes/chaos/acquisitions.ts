import type { LockChange } from './history'

/** One acquisition as the database recorded it: the take, then its extensions and its release. */
export interface Acquisition {
  readonly name: string
  readonly owner: string
  readonly take: LockChange
  readonly changes: readonly LockChange[]
  /** The change after it: the take of the next acquisition, or the destruction of the row. */
  readonly next: LockChange | undefined
}

const RELEASED = /[/ ](succeeded|failed|unlocked)$/

/** @param all the changes of one lock, in order */
export function acquisitionsOf(all: readonly LockChange[]): Acquisition[] {
  const changes = all.filter((change, index) => !isLateRelease(all[index - 1], change))
  const acquisitions: Acquisition[] = []
  let begin = 0
  for (let end = 1; end <= changes.length; end++) {
    const [before, next] = [changes[end - 1], changes[end]]
    if (before && next && isSameAcquisition(before, next)) continue
    const take = changes[begin]
    if (take && take.lockedBy !== null) {
      const { name, lockedBy: owner } = take
      acquisitions.push({ name, owner, take, changes: changes.slice(begin, end), next })
    }
    begin = end
  }
  return acquisitions
}

/**
 * Whether two successive changes belong to one acquisition. A release changes the owner, but neither acquires nor prolongs the
 * lock.
 */
export function isSameAcquisition(before: LockChange, after: LockChange): boolean {
  if (before.lockedBy === null || after.lockedBy === null) return false
  return (
    before.lockedBy === after.lockedBy ||
    RELEASED.test(after.lockedBy) ||
    (after.lockUntil <= before.lockUntil && before.lockedAt === after.lockedAt)
  )
}

/** A release after the end of the lease sets `lock_until` to its own time, although the lock was free in between. */
function isLateRelease(before: LockChange | undefined, { lockedBy, lockUntil, at }: LockChange): boolean {
  return RELEASED.test(lockedBy ?? '') && lockUntil <= at && lockUntil > (before?.lockUntil ?? Infinity)
}

export function byName<T extends { readonly name: string }>(items: readonly T[]): T[][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(item.name)
    if (group) group.push(item)
    else groups.set(item.name, [item])
  }
  return [...groups.values()]
}
