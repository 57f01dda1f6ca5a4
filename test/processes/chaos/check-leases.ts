import { acquisitionsOf, byName, type Acquisition } from './acquisitions'
import type { History, Injection } from './history'
import type { Run } from './runs'
import { LATEST_DELIVERY } from '../servers/tcp-proxy'

/** A contradiction between what a holder believed and what the database recorded. */
export interface LeaseFinding {
  readonly kind: 'cut short' | 'freed early' | 'held by nobody'
  readonly what: string
  /** Monotonic. */
  readonly at: number
}

/** In milliseconds, how much the machine's two clocks and the time of the trigger may differ. */
export const TOLERANCE = 25

/** Compares what each process believed with what the database recorded of the same acquisition. */
export function checkLeases(runs: readonly Run[], history: History): LeaseFinding[] {
  const toMonotonic = monotonicOf(history)
  const holders = new Map(runs.map((run) => [run.run, run]))
  return byName(history.changes)
    .flatMap(acquisitionsOf)
    .flatMap((acquisition) => {
      const { owner, take, next } = acquisition
      const run = holders.get(owner)
      const seen = { ...acquisition, run, toMonotonic }
      // A row that the harness destroyed proves nothing about the lock.
      const kept = (until: number | undefined): boolean => !wasDestroyed(history.injections, take.at, until)
      return [
        kept(run?.to) ? cutShort(seen) : undefined,
        kept(next && toMonotonic(next.at)) ? freedEarly(seen) : undefined,
        revived(seen),
        heldByNobody(seen),
      ]
    })
    .filter((finding) => finding !== undefined)
}

interface Seen extends Acquisition {
  /** `undefined` if the answer was lost, so that no process knew of the acquisition. */
  readonly run: Run | undefined
  /** Converts a time of the database's clock, which is this machine's wall clock. */
  readonly toMonotonic: (wall: number) => number
}

/** The lease ended in the database while its holder still considered it valid. */
function cutShort({ run, owner, name, changes, toMonotonic }: Seen): LeaseFinding | undefined {
  if (!run) return undefined
  const last = changes.findLast(({ at }) => toMonotonic(at) < run.to - TOLERANCE)
  const missing = last ? run.to - toMonotonic(last.lockUntil) : 0
  if (!last || missing <= TOLERANCE) return undefined
  const what = `${owner} considered '${name}' held for ${missing.toFixed(0)} ms longer than the database`
  return { kind: 'cut short', what, at: toMonotonic(last.at) }
}

/** Another process acquired the lock before its `lockAtLeastFor` was over. */
function freedEarly({ run, owner, name, next, toMonotonic }: Seen): LeaseFinding | undefined {
  if (!run || !next?.lockedBy) return undefined
  const early = run.notBefore - toMonotonic(next.at)
  if (early <= TOLERANCE) return undefined
  const what = `'${name}' of ${owner} was acquired by another process ${early.toFixed(0)} ms before its lockAtLeastFor was over`
  return { kind: 'freed early', what, at: toMonotonic(next.at) }
}

/** The lock was extended in the row after it had been released. */
function revived({ run, owner, name, changes, toMonotonic }: Seen): LeaseFinding | undefined {
  const unlocked = (run?.unlocked ?? Infinity) + TOLERANCE
  const index = changes.findIndex(
    ({ at, lockUntil }, position) =>
      toMonotonic(at) > unlocked && lockUntil > (changes[position - 1]?.lockUntil ?? Infinity),
  )
  const [before, change] = [changes[index - 1], changes[index]]
  if (!before || !change) return undefined
  const more = change.lockUntil - Math.max(before.lockUntil, change.at)
  const what = `'${name}' was held ${more.toFixed(0)} ms longer after ${owner} had unlocked it`
  return { kind: 'held by nobody', what, at: toMonotonic(change.at) }
}

/** The row stayed held after its holder had stopped, for longer than any lease that the holder had requested. */
function heldByNobody({
  run,
  owner,
  name,
  take,
  changes,
  next,
  toMonotonic,
}: Seen): LeaseFinding | undefined {
  const until = Math.min(changes.at(-1)?.lockUntil ?? 0, next?.at ?? Infinity)
  const trusted = run?.to ?? toMonotonic(take.at)
  const lockAtMostFor = run?.longest ?? take.lockUntil - take.at
  const more = toMonotonic(until) - trusted - lockAtMostFor
  // An extension from a dead holder may still be in transit.
  if (more <= LATEST_DELIVERY + TOLERANCE) return undefined
  const what = `'${name}' was held ${more.toFixed(0)} ms longer than ${owner} could have requested`
  return { kind: 'held by nobody', what, at: trusted }
}

function wasDestroyed(injections: readonly Injection[], takenAt: number, to = Infinity): boolean {
  return injections.some(({ destroys, wallTo, from }) => destroys && wallTo > takenAt && from < to)
}

/**
 * Converts a time of the database's clock, which is this machine's wall clock, by means of the segments, which record both clocks.
 */
export function monotonicOf({ segments }: History): (wall: number) => number {
  return (wall) => {
    const { from, wallFrom } = segments.findLast((segment) => segment.wallFrom <= wall) ??
      segments[0] ?? { from: 0, wallFrom: 0 }
    return wall - wallFrom + from
  }
}
