import { byName, isSameAcquisition } from './acquisitions'
import { checkLeases, type LeaseFinding } from './check-leases'
import { checkRefusals } from './check-refusals'
import { checkTokens } from './check-tokens'
import type { History, Injection, LockChange, ProcessEntry, Segment } from './history'
import { runsOf, type Run } from './runs'

/** One broken promise. */
interface Violation {
  readonly promise:
    | 'leases do not overlap'
    | 'the database keeps a lock at least until its holder considers it expired'
    | 'a lock stays held for lockAtLeastFor'
    | 'a lock without a holder becomes free'
    | "a run's signal aborts when its lease is over"
    | 'every lock becomes free'
    | 'a token grows with each acquisition'
    | 'a free lock is acquired'
    | 'a free lock is not refused'
    | "the caller gets the task's own result"
    | 'no stale commit with the guard'
    | 'no lost update with the guard'
    | 'no error is left unhandled'
  readonly what: string
  /** On the monotonic clock, if known. */
  readonly at?: number
  readonly wallAt?: number
}

export interface Figures {
  readonly fault: string
  readonly injected: number
  readonly acquisitions: number
  readonly overlaps: number
  /** Overlaps that the harness caused by destroying a holder's row. */
  readonly forced: number
  /** Leases that had ended in the database while their holders still considered them valid. */
  readonly cutShort: number
  /** Locks that another process acquired before `lockAtLeastFor` was over. */
  readonly freedEarly: number
  readonly heldByNobody: number
  readonly unaborted: number
  readonly lostResults: number
  readonly staleCommits: { readonly guarded: number; readonly unguarded: number }
  /** Expired locks that were acquired although their holder never released them. */
  readonly takeovers: number
  /** Refusals of locks that had been free for longer than the time limit. */
  readonly notGiven: number
  /** The longest time in milliseconds that a lock was free and not acquired, although no fault prevented it. */
  readonly longestUntaken: number
}

export interface Verdict {
  readonly violations: readonly Violation[]
  readonly segments: readonly Figures[]
  readonly total: Figures
  readonly commits: { readonly guarded: number; readonly unguarded: number }
  readonly lostUpdates: { readonly guarded: number; readonly unguarded: number }
  /** Processes that ended because a driver threw an error in its socket's event handlers. */
  readonly driverCrashes: number
}

interface Observation {
  readonly at?: number
  readonly wallAt?: number
}

const LEASE_PROMISES: Readonly<Record<LeaseFinding['kind'], Violation['promise']>> = {
  'cut short': 'the database keeps a lock at least until its holder considers it expired',
  'freed early': 'a lock stays held for lockAtLeastFor',
  'held by nobody': 'a lock without a holder becomes free',
}

/** In milliseconds. The harness's wall clock is truncated to whole milliseconds, the database's is not. */
const WALL_STEP = 1

/** In milliseconds, how long a lock may stay free while no fault prevents its acquisition. */
export const LONGEST_UNTAKEN = 10_000

/** Finds the broken promises in a history. A pure function: the same history gives the same verdict. */
export function checkHistory(history: History): Verdict {
  const runs = history.processes.flatMap(runsOf)
  const overlaps = overlappingRuns(runs, history.injections)
  const rows = byName(history.changes).map((changes) => checkRow(changes, history.injections))
  const leases = checkLeases(runs, history)
  const refusals = checkRefusals(history)
  const unaborted = entries(history, 'unaborted')
  const lostResults = history.processes.flatMap(lostResultsOf)
  const stale = history.commits
    .filter(({ run, seen }) => run !== seen)
    .map((commit) => ({ ...commit, at: runs.find(({ run }) => run === commit.run)?.from }))
  // No process competes before the first segment or after the last one.
  const [first, last] = [history.segments.at(0), history.segments.at(-1)]
  const takes = rows
    .flatMap(({ takes }) => takes)
    .filter(({ wallAt }) => !first || !last || (wallAt >= first.wallFrom && wallAt <= last.wallTo))
  const lostUpdates = { guarded: 0, unguarded: 0 }
  for (const { name, value } of history.resources) {
    const committed = history.commits.filter((commit) => commit.name === name)
    const kind = committed[0]?.guarded ? 'guarded' : 'unguarded'
    lostUpdates[kind] += Math.abs(committed.length - value)
  }
  const crashes = (origin: 'library' | 'driver') =>
    entries(history, 'crash').filter((crash) => crash.origin === origin)
  const forced = overlaps.filter((overlap) => overlap.forced)
  const trueOverlaps: Observation[] = [
    ...overlaps.filter((overlap) => !overlap.forced),
    ...rows.flatMap(({ overlaps }) => overlaps),
  ]

  const figures = (
    fault: string,
    injected: number,
    within: (observation: Observation) => boolean,
  ): Figures => ({
    fault,
    injected,
    acquisitions: runs.filter(({ from }) => within({ at: from })).length,
    overlaps: trueOverlaps.filter(within).length,
    forced: forced.filter(within).length,
    cutShort: leases.filter((finding) => finding.kind === 'cut short' && within(finding)).length,
    freedEarly: leases.filter((finding) => finding.kind === 'freed early' && within(finding)).length,
    heldByNobody: leases.filter((finding) => finding.kind === 'held by nobody' && within(finding)).length,
    unaborted: unaborted.filter(within).length,
    lostResults: lostResults.filter(within).length,
    staleCommits: {
      guarded: stale.filter((commit) => commit.guarded && within(commit as Observation)).length,
      unguarded: stale.filter((commit) => !commit.guarded && within(commit as Observation)).length,
    },
    notGiven: refusals.filter(within).length,
    takeovers: takes.filter((take) => take.takeover && within(take)).length,
    longestUntaken: Math.max(0, ...takes.filter(within).map(({ untaken }) => untaken)),
  })
  const injectedIn = ({ from, to }: Segment): number =>
    history.injections.filter((injection) => injection.from >= from && injection.from < to).length

  return {
    violations: [
      ...overlaps.filter(({ forced }) => !forced).map((overlap) => broken('leases do not overlap', overlap)),
      ...rows.flatMap((row) => row.overlaps.map((overlap) => broken('leases do not overlap', overlap))),
      ...leases.map((finding) => broken(LEASE_PROMISES[finding.kind], finding)),
      ...checkTokens(history.changes).map((token) => broken('a token grows with each acquisition', token)),
      ...unaborted.map(({ run, at }) =>
        broken("a run's signal aborts when its lease is over", { what: run, at }),
      ),
      ...lostResults.map((lost) => broken("the caller gets the task's own result", lost)),
      ...stale
        .filter(({ guarded }) => guarded)
        .map(({ run, seen }) =>
          broken('no stale commit with the guard', { what: `${run} committed after ${seen} had begun` }),
        ),
      ...(lostUpdates.guarded > 0
        ? [broken('no lost update with the guard', { what: `${lostUpdates.guarded} lost updates` })]
        : []),
      ...history.neverFree.map((name) => broken('every lock becomes free', { what: name })),
      // Without a single run, all other checks would pass.
      ...(runs.length === 0
        ? [broken('a free lock is acquired', { what: 'no lock was ever acquired' })]
        : []),
      ...takes
        .filter(({ untaken }) => untaken > LONGEST_UNTAKEN)
        .map(({ name, untaken, wallAt }) =>
          broken('a free lock is acquired', {
            what: `${name} was free for ${Math.round(untaken)} ms`,
            wallAt,
          }),
        ),
      ...refusals.map((refusal) => broken('a free lock is not refused', refusal)),
      ...crashes('library').map(({ error, at }) => broken('no error is left unhandled', { what: error, at })),
    ],
    segments: history.segments.map((segment) =>
      figures(segment.fault, injectedIn(segment), ({ at, wallAt }) =>
        at === undefined
          ? wallAt !== undefined && wallAt >= segment.wallFrom && wallAt < segment.wallTo
          : at >= segment.from && at < segment.to,
      ),
    ),
    total: figures('all', history.injections.length, () => true),
    commits: {
      guarded: history.commits.filter(({ guarded }) => guarded).length,
      unguarded: history.commits.filter(({ guarded }) => !guarded).length,
    },
    lostUpdates,
    driverCrashes: crashes('driver').length,
  }
}

function broken(
  promise: Violation['promise'],
  { what, at, wallAt }: { what: string } & Observation,
): Violation {
  return {
    promise,
    what,
    ...(at === undefined ? {} : { at }),
    ...(wallAt === undefined ? {} : { wallAt }),
  }
}

function entries<Type extends ProcessEntry['type']>(
  { processes }: History,
  type: Type,
): Extract<ProcessEntry, { type: Type }>[] {
  return processes
    .flat()
    .filter((entry): entry is Extract<ProcessEntry, { type: Type }> => entry.type === type)
}

/** Finds runs of different processes that held the same lock at the same time. */
function overlappingRuns(
  runs: readonly Run[],
  injections: readonly Injection[],
): { what: string; at: number; forced: boolean }[] {
  const found = []
  for (const sameName of byName(runs)) {
    const sorted = sameName.toSorted((a, b) => a.from - b.from)
    let latest: Run | undefined
    for (const run of sorted) {
      const holder = latest
      if (holder && run.from < holder.to) {
        // One of the two may have been acquired before the rows were destroyed, although its answer arrived later.
        const asked = Math.min(holder.asked, run.asked)
        const forced = injections.some(({ destroys, from, to }) => destroys && asked < to && run.from > from)
        found.push({
          what: `${run.run} overlapped ${holder.run} by ${(holder.to - run.from).toFixed(1)} ms`,
          at: run.from,
          forced,
        })
      }
      if (!holder || run.to > holder.to) latest = run
    }
  }
  return found
}

interface Take {
  readonly name: string
  readonly wallAt: number
  readonly takeover: boolean
  readonly untaken: number
}

/** Reads a row's changes: who acquired the lock after whom, and whether it was free. */
function checkRow(
  changes: readonly LockChange[],
  injections: readonly Injection[],
): { takes: Take[]; overlaps: { what: string; wallAt: number }[] } {
  const takes: Take[] = []
  const overlaps: { what: string; wallAt: number }[] = []
  let before: LockChange | undefined
  for (const change of changes) {
    const { name, at, lockedBy } = change
    if (lockedBy !== null && before && !isSameAcquisition(before, change)) {
      // Truncating a table fires no trigger, and not every database can record it in the same transaction.
      const destroyed = injections.some(
        ({ destroys, wallFrom, wallTo }) => destroys && at >= wallFrom && at < wallTo + WALL_STEP,
      )
      const held = before.lockedBy !== null && before.lockUntil > at && !destroyed
      if (held) {
        overlaps.push({
          what: `${lockedBy} acquired '${name}' from ${String(before.lockedBy)} ${before.lockUntil - at} ms before its lease was over`,
          wallAt: at,
        })
      }
      const takeover = before.lockedBy !== null && before.lockUntil > before.at
      const free = before.lockedBy === null ? before.at : Math.max(before.lockUntil, before.at)
      takes.push({ name, wallAt: at, takeover, untaken: unblocked(free, at, injections) })
    }
    before = change
  }
  return { takes, overlaps }
}

/** Returns how many milliseconds between `from` and `to` were free of faults that prevent every acquisition. */
function unblocked(from: number, to: number, injections: readonly Injection[]): number {
  let left = Math.max(0, to - from)
  let covered = from
  const blocking = injections.filter(({ blocks }) => blocks).toSorted((a, b) => a.wallFrom - b.wallFrom)
  for (const { wallFrom, wallTo } of blocking) {
    const begin = Math.max(covered, wallFrom)
    const end = Math.min(to, wallTo)
    if (end > begin) {
      left -= end - begin
      covered = end
    }
  }
  return left
}

/** Finds tasks that ended without their caller getting their result, in processes that were not killed. */
function lostResultsOf(history: readonly ProcessEntry[]): { what: string; at: number }[] {
  const stopped = history.some(({ type }) => type === 'stopped')
  const outcomes = new Map<string, boolean>()
  for (const entry of history) if (entry.type === 'outcome') outcomes.set(entry.run, entry.own)
  return history.flatMap((entry) => {
    if (entry.type !== 'ended') return []
    const own = outcomes.get(entry.run)
    if (own === true || (own === undefined && !stopped)) return []
    return [{ what: entry.run, at: entry.at }]
  })
}
