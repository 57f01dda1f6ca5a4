import { acquisitionsOf, byName, type Acquisition } from './acquisitions'
import type { History, Injection } from './history'
import type { Run } from './runs'
import { LATEST_DELIVERY } from '../servers/tcp-proxy'

/** Where what a holder believed and what the database kept do not fit together. */
export interface LeaseFinding {
  readonly kind: 'cut short' | 'freed early' | 'held by nobody'
  readonly what: string
  /** Monotonic. */
  readonly at: number
}

/** Milliseconds by which the machine's two clocks and the trigger's moment may differ. */
export const TOLERANCE = 25

/** Puts what each process believed beside what the database kept of the same acquisition. */
export function checkLeases(runs: readonly Run[], history: History): LeaseFinding[] {
  const toMonotonic = monotonicOf(history)
  const holders = new Map(runs.map((run) => [run.run, run]))
  return byName(history.changes)
    .flatMap(acquisitionsOf)
    .flatMap((acquisition) => {
      const { owner, take, next } = acquisition
      const run = holders.get(owner)
      const seen = { ...acquisition, run, toMonotonic }
      // What was destroyed by hand, nobody could keep.
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
  /** `undefined`: no process got this lock, for its answer was lost. */
  readonly run: Run | undefined
  /** From the database's clock, which is this machine's. */
  readonly toMonotonic: (wall: number) => number
}

/** The holder trusted a lease that the database had ended. */
function cutShort({ run, owner, name, changes, toMonotonic }: Seen): LeaseFinding | undefined {
  if (!run) return undefined
  const last = changes.findLast(({ at }) => toMonotonic(at) < run.to - TOLERANCE)
  const missing = last ? run.to - toMonotonic(last.lockUntil) : 0
  if (!last || missing <= TOLERANCE) return undefined
  const what = `${owner} trusted '${name}' for ${missing.toFixed(0)} ms longer than the database`
  return { kind: 'cut short', what, at: toMonotonic(last.at) }
}

/** Somebody else took the lock before its `lockAtLeastFor` was over. */
function freedEarly({ run, owner, name, next, toMonotonic }: Seen): LeaseFinding | undefined {
  if (!run || !next?.lockedBy) return undefined
  const early = run.notBefore - toMonotonic(next.at)
  if (early <= TOLERANCE) return undefined
  const what = `'${name}' was taken from ${owner} ${early.toFixed(0)} ms before its lockAtLeastFor was over`
  return { kind: 'freed early', what, at: toMonotonic(next.at) }
}

/** The row lasts longer again, although it was unlocked. */
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

/** The row is held for longer than any lease that its last holder asked for, after nobody trusted it any more. */
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
  // An extension of a holder that died may still be under way.
  if (more <= LATEST_DELIVERY + TOLERANCE) return undefined
  const what = `'${name}' was held ${more.toFixed(0)} ms longer than ${owner} could have wanted`
  return { kind: 'held by nobody', what, at: trusted }
}

function wasDestroyed(injections: readonly Injection[], takenAt: number, to = Infinity): boolean {
  return injections.some(({ destroys, wallTo, from }) => destroys && wallTo > takenAt && from < to)
}

/** From the database's clock, which is this machine's, as far as the segments tell. */
export function monotonicOf({ segments }: History): (wall: number) => number {
  return (wall) => {
    const { from, wallFrom } = segments.findLast((segment) => segment.wallFrom <= wall) ??
      segments[0] ?? { from: 0, wallFrom: 0 }
    return wall - wallFrom + from
  }
}
