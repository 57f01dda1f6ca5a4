import type { Injection, LockChange, LockEvent } from './events'
import { byName, History, isSameAcquisition, type Acquisition, type Run } from './history'
import { LATEST_DELIVERY } from '../servers/tcp-proxy'

export interface Finding {
  readonly rule: Rule
  readonly what: string
  /** Monotonic. */
  readonly at?: number
  /** Why the finding breaks no promise: it is only a figure. */
  readonly excused?: string
}

type Found = Omit<Finding, 'rule'>
type Check = (history: History) => readonly Found[]

/** In milliseconds, how much the machine's two clocks and the time of the trigger may differ. */
export const TOLERANCE = 25
/** In milliseconds, how long a lock may stay free while no fault prevents its acquisition. */
export const LONGEST_UNTAKEN = 10_000
/** In milliseconds, the longest time limit of a process, within which every release becomes visible. */
const TIME_LIMIT = 1_000
/** In milliseconds. The harness's wall clock is truncated to whole milliseconds, the database's is not. */
const WALL_STEP = 1
/** In milliseconds, how long a release may take until a row counts as held without a run. */
const RELEASED_WITHIN = 1_000

/** The promises. A rule that is added here holds for the runs of every harness. */
const RULES = {
  /** No two processes hold one lock at the same time, and no held row is acquired. */
  exclusion: (history) => [
    ...overlappingRuns(history),
    ...takesOf(history).flatMap(({ overlap }) => overlap ?? []),
  ],
  /** A lease does not end in the database while its holder still considers it valid. */
  leases: (history) => ofAcquisitions(history, cutShort),
  /** A lock stays held for `lockAtLeastFor`. */
  lockAtLeastFor: (history) => ofAcquisitions(history, freedEarly),
  /** A lock without a holder becomes free, and stays free. */
  ends: (history) => [
    ...ofAcquisitions(history, revived),
    ...ofAcquisitions(history, heldByNobody),
    ...sampledWithoutRun(history),
    ...history.of('never free').map(({ name }) => ({ what: `'${name}' was never free again` })),
  ],
  /** A token grows with each acquisition. */
  tokens: (history) => [...ofAcquisitions(history, tokenOfRow), ...tokensOfRuns(history)],
  /** A slot runs once. With `until` it may be repeated until a run of it has succeeded. */
  slots: (history) => slotsRunTwice(history),
  /** No run begins during a pause, unless the pause was resumed. */
  pauses: (history) => runsDuringPauses(history),
  /** A free lock is not refused as held. */
  refusals: (history) => refusalsOfFreeLocks(history),
  /** A free lock is acquired, and by each version if there are several. */
  liveness: (history) => [...nothingAcquired(history), ...untaken(history)],
  /** A run's signal aborts when its lease is over. */
  signals: (history) => history.of('unaborted').map(({ run, at }) => ({ what: run, at })),
  /** The caller gets the task's own result. */
  results: (history) => lostResults(history),
  /** With the guard there is no stale commit and no lost update. */
  guard: (history) => [...staleCommits(history), ...lostUpdates(history)],
  /** A row means the same to each version. */
  reading: (history) => history.of('misread').map(({ what, at }) => ({ what, at })),
  /** No error is left unhandled. */
  errors: (history) => [
    ...history.of('crash').map(({ error: what, at, origin }) => ({
      ...{ what, at },
      ...(origin === 'driver' && { excused: 'a driver threw it in its own event handlers' }),
    })),
    ...history.of('gave up').map(({ error }) => ({ what: error })),
  ],
} as const satisfies Record<string, Check>
export type Rule = keyof typeof RULES

const WHEN_WRITES_ARE_LOST: readonly Rule[] = ['exclusion', 'slots', 'tokens', 'ends']

/** Applies every rule. A pure function: the same events give the same findings. */
export function judge(events: readonly LockEvent[]): Finding[] {
  const history = new History(events)
  const findings = (Object.keys(RULES) as Rule[]).flatMap((rule) =>
    (RULES[rule] as Check)(history).map((found): Finding => ({ rule, ...found })),
  )
  if (history.of('loses writes').length === 0) return findings
  const excused = findings.map((finding) =>
    WHEN_WRITES_ARE_LOST.includes(finding.rule)
      ? { ...finding, excused: 'acknowledged writes were lost' }
      : finding,
  )
  if (excused.some(({ rule }) => rule === 'exclusion')) return excused
  const what = 'no overlap although acknowledged writes were lost, so the harness detects nothing'
  return [...excused, { rule: 'exclusion', what }]
}

export const violationsOf = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ excused }) => excused === undefined)

function overlappingRuns(history: History): Found[] {
  return byName(history.runs).flatMap((runs) => {
    let latest: Run | undefined
    return runs.flatMap((run) => {
      const holder = latest
      if (!holder || run.to > holder.to) latest = run
      if (!holder || run.from >= holder.to) return []
      const milliseconds = Math.min(holder.to, run.to) - run.from
      const what = `${run.run} overlapped ${holder.run} on '${run.name}' by ${milliseconds.toFixed(1)} ms`
      return [{ what, at: run.from, ...excuseOf(history, [holder, run], milliseconds) }]
    })
  })
}

function excuseOf(
  history: History,
  [holder, run]: [Run, Run],
  milliseconds: number,
): Pick<Finding, 'excused'> {
  // One of the two may have been acquired before the rows were destroyed, although its answer arrived later.
  const asked = Math.min(holder.asked, run.asked)
  const isForced = history
    .of('fault')
    .some(({ destroys, from, to }) => destroys && asked < to && run.from > from)
  if (isForced) return { excused: 'the harness destroyed the row' }
  const segment = history.of('segment').findLast(({ from }) => from <= run.from)
  return milliseconds <= (segment?.clockAhead ?? 0) ? { excused: "the next server's clock is ahead" } : {}
}

/** An acquisition of a row after another acquisition. */
export interface Take {
  readonly at: number
  /** Whether the lease before had ended without a release. */
  readonly takeover: boolean
  /** For how many milliseconds the lock had been free, not counting faults that prevent every acquisition. */
  readonly untaken: number
  readonly what: string
  readonly overlap: Found | undefined
}

/** Reads the changes of each row: who acquired the lock after whom, and whether it was free. */
export function takesOf(history: History): Take[] {
  const faults = history.of('fault')
  return history.changes.flatMap((changes) =>
    changes.flatMap((change, index) => {
      const { name, at, lockedBy } = change
      const before = changes[index - 1]
      if (lockedBy === null || !before || isSameAcquisition(before, change)) return []
      // Truncating a table fires no trigger, and not every database can record it in the same transaction.
      const isDestroyed = faults.some(
        ({ destroys, wallFrom, wallTo }) => destroys && at >= wallFrom && at < wallTo + WALL_STEP,
      )
      const isHeld = before.lockedBy !== null && before.lockUntil > at && !isDestroyed
      const early = `${lockedBy} acquired '${name}' from ${String(before.lockedBy)} ${before.lockUntil - at} ms before its lease was over`
      const free = before.lockedBy === null ? before.at : Math.max(before.lockUntil, before.at)
      const untaken = unblocked(free, at, faults)
      return [
        {
          at: history.toMonotonic(at),
          takeover: before.lockedBy !== null && before.lockUntil > before.at,
          untaken,
          what: `'${name}' was free for ${Math.round(untaken)} ms`,
          overlap: isHeld ? { what: early, at: history.toMonotonic(at) } : undefined,
        },
      ]
    }),
  )
}

/** Returns how many milliseconds between `from` and `to` were free of faults that prevent every acquisition. */
function unblocked(from: number, to: number, faults: readonly Injection[]): number {
  let left = Math.max(0, to - from)
  let covered = from
  const blocking = faults.filter(({ blocks }) => blocks).toSorted((a, b) => a.wallFrom - b.wallFrom)
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

/** What the database recorded of an acquisition, and what its holder did. */
interface Seen extends Acquisition {
  /** `undefined` if the answer was lost, so that no process knew of the acquisition. */
  readonly run: Run | undefined
  readonly history: History
}

function ofAcquisitions(history: History, check: (seen: Seen) => Found | undefined): Found[] {
  const runs = new Map(history.runs.map((run) => [run.run, run]))
  return history.acquisitions.flatMap(
    (acquisition) => check({ ...acquisition, run: runs.get(acquisition.owner), history }) ?? [],
  )
}

function cutShort({ run, owner, name, changes, take, history }: Seen): Found | undefined {
  if (!run || wasDestroyed(history, take.at, run.to)) return undefined
  const { toMonotonic } = history
  const last = changes.findLast(({ at }) => toMonotonic(at) < run.to - TOLERANCE)
  const missing = last ? run.to - toMonotonic(last.lockUntil) : 0
  if (!last || missing <= TOLERANCE) return undefined
  const what = `${owner} considered '${name}' held for ${missing.toFixed(0)} ms longer than the database`
  return { what, at: toMonotonic(last.at) }
}

function freedEarly({ run, owner, name, take, next, history }: Seen): Found | undefined {
  if (!run || !next?.lockedBy) return undefined
  const at = history.toMonotonic(next.at)
  const early = run.notBefore - at
  if (early <= TOLERANCE || wasDestroyed(history, take.at, at)) return undefined
  const what = `'${name}' of ${owner} was acquired by another process ${early.toFixed(0)} ms before its lockAtLeastFor was over`
  return { what, at }
}

/** The lock was extended in the row after it had been released. */
function revived({ run, owner, name, changes, history: { toMonotonic } }: Seen): Found | undefined {
  const unlocked = (run?.unlocked ?? Infinity) + TOLERANCE
  const index = changes.findIndex(
    ({ at, lockUntil }, position) =>
      toMonotonic(at) > unlocked && lockUntil > (changes[position - 1]?.lockUntil ?? Infinity),
  )
  const [before, change] = [changes[index - 1], changes[index]]
  if (!before || !change) return undefined
  const more = change.lockUntil - Math.max(before.lockUntil, change.at)
  const what = `'${name}' was held ${more.toFixed(0)} ms longer after ${owner} had unlocked it`
  return { what, at: toMonotonic(change.at) }
}

/** The row stayed held after its holder had stopped, for longer than any lease that the holder had requested. */
function heldByNobody({ run, owner, name, take, changes, next, history }: Seen): Found | undefined {
  const { toMonotonic } = history
  const until = Math.min(changes.at(-1)?.lockUntil ?? 0, next?.at ?? Infinity)
  const trusted = run?.to ?? toMonotonic(take.at)
  const lockAtMostFor = run?.longest ?? take.lockUntil - take.at
  const more = toMonotonic(until) - trusted - lockAtMostFor
  // An extension from a dead holder may still be in transit.
  if (more <= LATEST_DELIVERY + TOLERANCE) return undefined
  const what = `'${name}' was held ${more.toFixed(0)} ms longer than ${owner} could have requested`
  return { what, at: trusted }
}

/** A row that the harness destroyed proves nothing about the lock. */
function wasDestroyed(history: History, takenAt: number, to: number): boolean {
  return history.of('fault').some(({ destroys, wallTo, from }) => destroys && wallTo > takenAt && from < to)
}

/**
 * Finds rows that were still held a second after their run had ended and the primary could be reached to release them. Within the
 * lease this is only a figure: a release may be lost with the server that it reached.
 */
function sampledWithoutRun(history: History): Found[] {
  const runs = new Map(history.runs.map((run) => [run.run, run]))
  const longest = new Map<string, Found>()
  for (const { at, owners } of history.of('rows')) {
    const segment = history.of('segment').find(({ from, to }) => from <= at && at < to)
    for (const owner of owners) {
      const run = runs.get(owner)
      if (!run) continue
      const since = at - Math.max(run.to, ...(segment?.reachable ?? []))
      if (since <= RELEASED_WITHIN) continue
      const isOver = at > run.to + run.longest + (segment?.clockAhead ?? 0) + LATEST_DELIVERY
      const what = `'${run.name}' was held by ${owner} ${since.toFixed(0)} ms after its run`
      longest.set(owner, { what, at, ...(!isOver && { excused: 'its lease was not over' }) })
    }
  }
  return [...longest.values()]
}

function tokenOfRow({ name, owner, take, next, history }: Seen): Found | undefined {
  if (!next?.lockedBy || next.lockedAt > take.lockedAt) return undefined
  const what = `'${name}' of ${next.lockedBy} has token ${next.lockedAt} after ${take.lockedAt} of ${owner}`
  return { what, at: history.toMonotonic(next.at) }
}

/** Compares the tokens that tasks were given, where no trigger sees the rows. */
function tokensOfRuns(history: History): Found[] {
  const tokens = new Map(history.of('token').map(({ run, token }) => [run, token]))
  return byName(history.runs).flatMap((runs) => {
    let highest = -Infinity
    return runs.flatMap(({ run, name, from }) => {
      const token = tokens.get(run) ?? Infinity
      if (token === Infinity) return []
      const before = highest
      highest = Math.max(highest, token)
      return token > before
        ? []
        : [{ what: `'${name}' of ${run} has token ${token} after ${before}`, at: from }]
    })
  })
}

function slotsRunTwice(history: History): Found[] {
  const runs = new Map(history.runs.map((run) => [run.run, run]))
  const done = new Map<string, string>()
  return history
    .of('slot')
    .toSorted((one, other) => one.at - other.at)
    .flatMap(({ run, name, slot, until, at }) => {
      const key = `${name} ${slot}`
      const before = done.get(key)
      const { ended, unlocked } = runs.get(run) ?? {}
      if (!until || (ended?.succeeded && unlocked !== undefined)) done.set(key, run)
      return before === undefined
        ? []
        : [{ what: `slot ${slot} of ${name} was run by ${before} and by ${run}`, at }]
    })
}

function runsDuringPauses(history: History): Found[] {
  return history.of('paused').flatMap(({ name, at, asked, run: pause, until }) => {
    const isOfLock = (event: { readonly name: string }): boolean => event.name === name
    // A resume that began before the pause was answered may have ended it too.
    const resumed = history.of('resumed').filter((event) => isOfLock(event) && event.at > asked)
    const resuming = history.of('resuming').filter((event) => isOfLock(event) && event.at > at)
    const end = Math.min(until, ...resumed.map(({ from }) => from), ...resuming.map((event) => event.at))
    return history.runs
      .filter((run) => isOfLock(run) && run.from < end && run.to > at)
      .map(({ run, from }) => ({ what: `${run} ran on ${name} while it was paused: ${pause}`, at: from }))
  })
}

function refusalsOfFreeLocks(history: History): Found[] {
  const { toMonotonic } = history
  const rows = new Map(history.changes.map((changes) => [changes[0]?.name, changes]))
  return byName(history.of('refused').filter(({ reason }) => reason === 'held')).flatMap((refusals) => {
    const changes = (rows.get(refusals[0]?.name) ?? []).map(({ at, lockedBy, lockUntil }: LockChange) => ({
      at: toMonotonic(at),
      freeFrom: toMonotonic(lockedBy === null ? at : Math.max(at, lockUntil)),
    }))
    let next = 0
    return refusals
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

/** Without a single run, all other rules would hold. */
function nothingAcquired(history: History): Found[] {
  if (history.runs.length === 0) return [{ what: 'no lock was ever acquired' }]
  const versions = new Map(history.of('started').map(({ process, version }) => [process, version]))
  const isHandedOver = byName(history.runs).some(
    (runs) => new Set(runs.map(({ process }) => versions.get(process))).size > 1,
  )
  const isOfSeveral = new Set(versions.values()).size > 1
  return isOfSeveral && !isHandedOver ? [{ what: 'no lock went from one version to the other' }] : []
}

/** No process competes before the first segment or after the last one. */
function untaken(history: History): Found[] {
  const segments = history.of('segment')
  const [from, to] = [segments.at(0)?.from ?? -Infinity, segments.at(-1)?.to ?? Infinity]
  return takesOf(history).filter((take) => take.untaken > LONGEST_UNTAKEN && take.at >= from && take.at <= to)
}

/** Finds tasks that ended without their caller getting their result, in processes that were not killed. */
function lostResults(history: History): Found[] {
  const stopped = new Set(history.of('stopped').map(({ process }) => process))
  const outcomes = new Map(history.of('outcome').map(({ run, own }) => [run, own]))
  return history.of('ended').flatMap(({ run, at, process }) => {
    const own = outcomes.get(run)
    return own === true || (own === undefined && !stopped.has(process)) ? [] : [{ what: run, at }]
  })
}

function staleCommits(history: History): Found[] {
  const begun = new Map(history.runs.map(({ run, from }) => [run, from]))
  return history.of('commit').flatMap(({ run, seen, guarded }) => {
    if (run === seen) return []
    const at = begun.get(run)
    return [
      {
        what: `${run} committed after ${seen} had begun`,
        ...(at !== undefined && { at }),
        ...(!guarded && { excused: 'its transaction was not guarded' }),
      },
    ]
  })
}

function lostUpdates(history: History): Found[] {
  return history.of('resource').flatMap(({ name, value }) => {
    const commits = history.of('commit').filter((commit) => commit.name === name)
    const lost = Math.abs(commits.length - value)
    if (lost === 0) return []
    const isGuarded = commits[0]?.guarded === true
    return [
      {
        what: `${lost} lost updates of '${name}'`,
        ...(!isGuarded && { excused: 'its tasks are not guarded' }),
      },
    ]
  })
}
