import { byName } from './acquisitions'
import { monotonicOf, TOLERANCE } from './check-leases'
import type { History } from './history'

/** In milliseconds, the longest time limit of a process, within which every release becomes visible. */
const TIME_LIMIT = 1_000

/** Finds refusals of locks that had been free in the database for longer than the time limit. */
export function checkRefusals(history: History): { what: string; at: number }[] {
  const toMonotonic = monotonicOf(history)
  const refusals = byName(history.processes.flat().filter((entry) => entry.type === 'refused'))
  const rows = new Map(byName(history.changes).map((changes) => [changes[0]?.name, changes]))
  return refusals.flatMap((ofOneLock) => {
    const changes = (rows.get(ofOneLock[0]?.name) ?? []).map(({ at, lockedBy, lockUntil }) => ({
      at: toMonotonic(at),
      freeFrom: toMonotonic(lockedBy === null ? at : Math.max(at, lockUntil)),
    }))
    let next = 0
    return ofOneLock
      .toSorted((a, b) => a.at - b.at)
      .flatMap(({ name, asked, at }) => {
        // The lock may have been acquired again just before the refusal.
        while ((changes[next]?.at ?? Infinity) <= at + TOLERANCE) next++
        const free = asked - (changes[next - 1]?.freeFrom ?? Infinity)
        if (free <= TIME_LIMIT) return []
        return [{ what: `'${name}' was refused after it had been free for ${free.toFixed(0)} ms`, at }]
      })
  })
}
