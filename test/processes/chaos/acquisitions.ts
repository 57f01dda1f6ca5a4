import type { LockChange } from './history'

/** One acquisition as the database saw it: the take, and then extensions and the unlock. */
export interface Acquisition {
  readonly name: string
  readonly owner: string
  readonly take: LockChange
  readonly changes: readonly LockChange[]
  /** What came after it: the next acquisition's take, or that the row was destroyed. */
  readonly next: LockChange | undefined
}

/** @param changes those of one name, in their order */
export function acquisitionsOf(changes: readonly LockChange[]): Acquisition[] {
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

/** An unlock may change the owner's text, but it neither takes nor prolongs. */
export function isSameAcquisition(before: LockChange, after: LockChange): boolean {
  if (before.lockedBy === null || after.lockedBy === null) return false
  return (
    before.lockedBy === after.lockedBy ||
    (after.lockUntil <= before.lockUntil &&
      (before.lockedAt === after.lockedAt || after.lockedBy.endsWith('/unlocked')))
  )
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
