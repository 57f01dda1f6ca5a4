import { LATEST_DELIVERY } from '../servers/network'
import type { EventOf, Injection, Limits, LockChange, LockEvent, ProcessEvent } from './events'

/** One acquisition as its own process recorded it. Times are monotonic. */
export interface Run {
  readonly run: string
  readonly name: string
  readonly process: string
  readonly asked: number
  readonly from: number
  /** When the process stopped considering the lock held. */
  to: number
  /** Because of `lockAtLeastFor`, no other process may acquire the lock before this time. */
  notBefore: number
  /** The longest `lockAtMostFor` that was requested. */
  longest: number
  ended?: EventOf<'ended'>
  unlocked?: number
}

/** One acquisition as the database recorded it: the take, then its extensions and its release. */
export interface Acquisition {
  readonly name: string
  readonly owner: string
  readonly take: LockChange
  readonly changes: readonly LockChange[]
  /** The change after it: the take of the next acquisition, or the destruction of the row. */
  readonly next: LockChange | undefined
  /** The row before that, with a release that came after the end of the lease. */
  readonly left: LockChange | undefined
}

/** What holds for real processes and servers on one machine. */
export const LIMITS: Limits = {
  type: 'limits',
  tolerance: 25,
  drift: 0,
  timeLimit: 1_000,
  latestDelivery: LATEST_DELIVERY,
  longestUntaken: 10_000,
}

/** The events of a run of any harness, sorted for the rules. */
export class History {
  readonly runs: readonly Run[]
  /** The runs by their owners. */
  readonly runOf: ReadonlyMap<string, Run>
  readonly changes: readonly LockChange[][]
  readonly acquisitions: readonly Acquisition[]
  readonly limits: Limits
  /** The first token that each run got. */
  readonly tokens: ReadonlyMap<string, EventOf<'token'>>
  readonly #byType = new Map<LockEvent['type'], LockEvent[]>()

  constructor(readonly events: readonly LockEvent[]) {
    for (const event of events) {
      const same = this.#byType.get(event.type)
      if (same) same.push(event)
      else this.#byType.set(event.type, [event])
    }
    this.runs = runsOf(events)
    this.runOf = new Map(this.runs.map((run) => [run.run, run]))
    this.changes = byName(this.of('change'))
    this.acquisitions = this.changes.flatMap(acquisitionsOf)
    this.tokens = new Map(this.of('token').map((event) => [event.run, event]))
    this.limits = this.of('limits')[0] ?? LIMITS
  }

  readonly momentOf = (change: LockChange): number => change.exact?.at ?? this.toMonotonic(change.at)

  /** Returns when the lease of the row ends, on the monotonic clock. */
  readonly endOf = (change: LockChange): number => change.exact?.end ?? this.toMonotonic(change.lockUntil)

  /** Returns by how much two clocks may differ at the end of a lease that was extended once. */
  toleranceOf({ longest }: { readonly longest: number }): number {
    return this.limits.tolerance + 2 * this.limits.drift * longest
  }

  /** Returns the faults of the harness that destroyed the row of this lock. */
  destructionsOf(lock: string): Injection[] {
    return this.of('fault').filter(({ destroys, name = lock }) => destroys && name === lock)
  }

  of<Type extends LockEvent['type']>(type: Type): EventOf<Type>[] {
    return (this.#byType.get(type) ?? []) as EventOf<Type>[]
  }

  /**
   * Converts a time of the database's clock, which is this machine's wall clock, by means of the segments, which record both
   * clocks.
   */
  readonly toMonotonic = (wall: number): number => {
    const segments = this.of('segment')
    const { from, wallFrom } = segments.findLast((segment) => segment.wallFrom <= wall) ??
      segments[0] ?? { from: 0, wallFrom: 0 }
    return wall - wallFrom + from
  }
}

/** Returns the runs of all processes. A run lasts from the acquisition until its task has ended or its lease is over. */
function runsOf(events: readonly LockEvent[]): Run[] {
  const runs = new Map<string, Run>()
  for (const event of events) {
    if (event.type === 'acquired') {
      const { run, name, process, asked, at, until, notBefore, lockAtMostFor } = event
      runs.set(run, { run, name, process, asked, from: at, to: until, notBefore, longest: lockAtMostFor })
      continue
    }
    const run = 'process' in event && 'run' in event ? runs.get(event.run) : undefined
    if (run) follow(run, event as ProcessEvent)
  }
  return [...runs.values()].sort((one, other) => one.from - other.from)
}

function follow(run: Run, event: ProcessEvent): void {
  if (event.type === 'extending') run.longest = Math.max(run.longest, event.lockAtMostFor)
  if (event.type === 'extended') {
    if (!run.ended) run.to = event.until
    if (event.lockAtLeastFor !== undefined) run.notBefore = run.asked + event.lockAtLeastFor
  }
  if (event.type === 'held') run.to = Math.max(run.to, event.at)
  if (event.type === 'ended') {
    run.ended = event
    run.to = Math.min(run.to, event.at)
  }
  if (event.type === 'unlocked') run.unlocked = event.at
}

export const RELEASED = /[/ ](succeeded|failed|unlocked)$/

/** @param all the changes of one lock, in order */
function acquisitionsOf(all: readonly LockChange[]): Acquisition[] {
  let isLate = false
  const changes = all.filter((change, index) => {
    const before = all[index - 1]
    // The harness records the same row again when the clock was changed.
    isLate = isLateRelease(before, change) || (isLate && before?.lockUntil === change.lockUntil)
    return !isLate
  })
  const befores = new Map(all.map((change, index) => [change, all[index - 1]]))
  const acquisitions: Acquisition[] = []
  let begin = 0
  for (let end = 1; end <= changes.length; end++) {
    const [before, next] = [changes[end - 1], changes[end]]
    if (before && next && isSameAcquisition(before, next)) continue
    const take = changes[begin]
    if (take && take.lockedBy !== null) {
      const { name, lockedBy: owner } = take
      const left = next ? befores.get(next) : all.at(-1)
      acquisitions.push({ name, owner, take, changes: changes.slice(begin, end), next, left })
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
  return [...grouped(items, ({ name }) => name).values()]
}

export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}
