import { byName } from './acquisitions'
import { monotonicOf, TOLERANCE } from './check-leases'
import type { History } from './history'

/** In milliseconds, the longest time limit of a process: a release is seen by everybody by then. */
const TIME_LIMIT = 1_000

/** Locks that were told as held, and had been free in the database for longer than a step may take. */
export function checkRefusals(history: History): { what: string; at: number }[] {
  const toMonotonic = monotonicOf(history)
  const refusals = byName(history.processes.flat().filter((entry) => entry.type === 'refused'))
  const rows = new Map(byName(history.changes).map((changes) => [changes[0]?.name, changes]))
  return refusals.flatMap((told) => {
    const changes = (rows.get(told[0]?.name) ?? []).map(({ at, lockedBy, lockUntil }) => ({
      at: toMonotonic(at),
      freeFrom: toMonotonic(lockedBy === null ? at : Math.max(at, lockUntil)),
    }))
    let next = 0
    return told
      .toSorted((a, b) => a.at - b.at)
      .flatMap(({ name, asked, at }) => {
        // What it saw may have been acquired in the same moment.
        while ((changes[next]?.at ?? Infinity) <= at + TOLERANCE) next++
        const free = asked - (changes[next - 1]?.freeFrom ?? Infinity)
        if (free <= TIME_LIMIT) return []
        return [{ what: `'${name}' was told as held after it had been free for ${free.toFixed(0)} ms`, at }]
      })
  })
}
