import { SLOT_AT_MOST_AHEAD, tokenOfRetry } from '../../src/core/slots'
import { lastRunOf } from '../../src/sql/owner'
import type { EventOf, Injection, LockEvent } from './events'
import { byName, History, isSameAcquisition, RELEASED, type Acquisition, type Run } from './history'

export interface Finding {
  readonly rule: Rule
  readonly what: string
  /** Monotonic. */
  readonly at?: number | undefined
  /** Why the finding breaks no promise: it is only a figure. */
  readonly excused?: string | undefined
}

type Found = Omit<Finding, 'rule'>
type Check = (history: History) => readonly Found[]

/** In milliseconds. The harness's wall clock is truncated to whole milliseconds, the database's is not. */
const WALL_STEP = 1
/** In milliseconds, how long a release may take until a row counts as held without a run. */
const RELEASED_WITHIN = 1_000

/** In milliseconds, the error of floating-point numbers. */
const ROUNDING = 1e-3

/** The promises. A rule that is added here holds for the runs of every harness. */
const RULES = {
  /** No two processes hold one lock at the same time, and no held row is acquired. */
  exclusion: (history) => [
    ...overlappingRuns(history),
    ...takesOf(history).flatMap(({ overlap }) => overlap ?? []),
    ...runsWithoutAcquisition(history),
  ],
  /** A lease does not end in the database while its holder still considers it valid. */
  leases: (history) => ofAcquisitions(history, cutShort),
  /** A lock stays held for `lockAtLeastFor`. */
  lockAtLeastFor: (history) => ofAcquisitions(history, freedEarly),
  /** A lock without a holder becomes free, and stays free. */
  ends: (history) => [
    ...ofAcquisitions(history, revived),
    ...ofAcquisitions(history, extendedTooLate),
    ...acquiredAgain(history),
    ...ofAcquisitions(history, heldByNobody),
    ...sampledWithoutRun(history),
    ...history.of('never free').map(({ name }) => ({ what: `'${name}' was never free again` })),
  ],
  /** A token grows with each acquisition, and is that of the row. */
  tokens: (history) => [
    ...ofAcquisitions(history, tokenOfRow),
    ...ofAcquisitions(history, tokenOfAnotherRow),
    ...tokensOfRuns(history),
  ],
  /** A slot runs once, and no earlier one after it. With `until` it may be repeated until a run of it has succeeded. */
  slots: (history) => [...slotsRunTwice(history), ...slotsAhead(history), ...slotsOfOtherRows(history)],
  /** The row records how the run ended. */
  outcomes: (history) => ofAcquisitions(history, wrongOutcome),
  /** No run begins during a pause, unless the pause was resumed. */
  pauses: (history) => runsDuringPauses(history),
  /** A free lock is not refused as held, nor a slot that may run. */
  refusals: (history) => [...refusalsOfFreeLocks(history), ...refusalsOfSlots(history)],
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
      excused: origin === 'driver' ? 'a driver threw it in its own event handlers' : undefined,
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
      const slack = ROUNDING + 2 * history.limits.drift * (holder?.longest ?? 0)
      if (!holder || run.from >= holder.to - slack) return []
      const milliseconds = Math.min(holder.to, run.to) - run.from
      const what = `${run.run} overlapped ${holder.run} on '${run.name}' by ${milliseconds.toFixed(1)} ms`
      return [{ what, at: run.from, excused: excuseOf(history, [holder, run], milliseconds) }]
    })
  })
}

function excuseOf(history: History, [holder, run]: [Run, Run], milliseconds: number): string | undefined {
  // One of the two may have been acquired before the rows were destroyed, although its answer arrived later.
  const asked = Math.min(holder.asked, run.asked)
  const isForced = history.destructionsOf(run.name).some(({ from, to }) => asked < to && run.from > from)
  if (isForced) return 'the harness destroyed the row'
  const segment = history.of('segment').findLast(({ from }) => from <= run.from)
  return milliseconds <= (segment?.clockAhead ?? 0) ? "the next server's clock is ahead" : undefined
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
  const blocking = history.of('fault').filter(({ blocks }) => blocks)
  return history.changes.flatMap((changes) => {
    const destroyed = history.destructionsOf(changes[0]?.name ?? '')
    return changes.flatMap((change, index) => {
      const { name, at, lockedBy } = change
      const before = changes[index - 1]
      if (lockedBy === null || !before || isSameAcquisition(before, change)) return []
      // Truncating a table fires no trigger, and not every database can record it in the same transaction.
      const isDestroyed = destroyed.some(({ wallFrom, wallTo }) => at >= wallFrom && at < wallTo + WALL_STEP)
      const isHeld = before.lockedBy !== null && before.lockUntil > at && !isDestroyed
      const early = `${lockedBy} acquired '${name}' from ${String(before.lockedBy)} ${before.lockUntil - at} ms before its lease was over`
      const free = before.lockedBy === null ? before.at : Math.max(before.lockUntil, before.at)
      const untaken = unblocked(free, at, blocking)
      return [
        {
          at: history.momentOf(change),
          takeover: before.lockedBy !== null && before.lockUntil > before.at,
          untaken,
          what: `'${name}' was free for ${Math.round(untaken)} ms`,
          overlap: isHeld ? { what: early, at: history.momentOf(change) } : undefined,
        },
      ]
    })
  })
}

/** Returns how many milliseconds between `from` and `to` were free of faults that prevent every acquisition. */
function unblocked(from: number, to: number, blocking: readonly Injection[]): number {
  let left = Math.max(0, to - from)
  let covered = from
  for (const { wallFrom, wallTo } of blocking.toSorted((a, b) => a.wallFrom - b.wallFrom)) {
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
  return history.acquisitions.flatMap(
    (acquisition) => check({ ...acquisition, run: history.runOf.get(acquisition.owner), history }) ?? [],
  )
}

function cutShort({ run, owner, name, changes, take, history }: Seen): Found | undefined {
  if (!run || wasDestroyed(history, name, take.at, run.to)) return undefined
  const tolerance = history.toleranceOf(run)
  const last = changes.findLast((change) => history.momentOf(change) < run.to - tolerance)
  const missing = last ? run.to - history.endOf(last) : 0
  if (!last || missing <= tolerance) return undefined
  const what = `${owner} considered '${name}' held for ${missing.toFixed(3)} ms longer than the database`
  return { what, at: history.momentOf(last) }
}

function freedEarly({ run, owner, name, take, next, history }: Seen): Found | undefined {
  if (!run || !next?.lockedBy) return undefined
  const at = history.momentOf(next)
  const early = run.notBefore - at
  // Clocks are truncated to milliseconds twice.
  if (early <= history.toleranceOf(run) + 2 || wasDestroyed(history, name, take.at, at)) return undefined
  const what = `'${name}' of ${owner} was acquired by another process ${early.toFixed(0)} ms before its lockAtLeastFor was over`
  return { what, at }
}

/** The lock was extended in the row after it had been released. */
function revived({ run, owner, name, changes, history }: Seen): Found | undefined {
  const unlocked = (run?.unlocked ?? Infinity) + history.limits.tolerance
  const index = changes.findIndex(
    (change, position) =>
      history.momentOf(change) > unlocked &&
      change.lockUntil > (changes[position - 1]?.lockUntil ?? Infinity),
  )
  const [before, change] = [changes[index - 1], changes[index]]
  if (!before || !change) return undefined
  const more = change.lockUntil - Math.max(before.lockUntil, change.at)
  const what = `'${name}' was held ${more.toFixed(0)} ms longer after ${owner} had unlocked it`
  return { what, at: history.momentOf(change) }
}

/**
 * The lock was extended in the row after its lease had ended. Only where changes have the time that their statement used: on MySQL, a
 * trigger shows a later one if the statement had to wait.
 */
function extendedTooLate({ owner, name, changes, history }: Seen): Found | undefined {
  const late = changes.find((change, index) => {
    const end = changes[index - 1]?.lockUntil ?? Infinity
    const isExtension = change.lockedBy === owner && change.lockUntil > Math.max(end, change.at)
    return isExtension && change.exact && change.at > end + history.limits.tolerance
  })
  return late && { what: `${owner} extended '${name}' after its lease`, at: history.momentOf(late) }
}

/** An acquisition got its lock a second time, by a statement that came late. */
function acquiredAgain(history: History): Found[] {
  const released = new Set<string>()
  return history.changes.flatMap((changes) =>
    changes.flatMap((change, index) => {
      const before = changes[index - 1]
      if (before?.lockedBy && change.lockedBy !== before.lockedBy) released.add(before.lockedBy)
      const { name, lockedBy } = change
      const isAgain = before?.lockedBy && lockedBy !== before.lockedBy && released.has(lockedBy ?? '')
      if (!isAgain || !lockedBy || !isOfRun(lockedBy)) return []
      return [{ what: `${lockedBy} got '${name}' back after its end`, at: history.momentOf(change) }]
    }),
  )
}

/** Whether it is the owner of one acquisition, not a pause or the end of a run, which may come again. */
const isOfRun = (owner: string): boolean => !RELEASED.test(owner) && !owner.startsWith('paused by ')

/** The row stayed held after its holder had stopped, for longer than any lease that the holder had requested. */
function heldByNobody({ run, owner, name, take, changes, next, history }: Seen): Found | undefined {
  const { latestDelivery, tolerance } = history.limits
  const last = changes.at(-1) ?? take
  const until = Math.min(history.endOf(last), next ? history.momentOf(next) : Infinity)
  const trusted = run?.to ?? history.momentOf(take)
  const lockAtMostFor = run?.longest ?? take.lockUntil - take.at
  const more = until - trusted - lockAtMostFor
  // An extension from a dead holder may still be in transit.
  if (more <= latestDelivery + tolerance) return undefined
  const what = `'${name}' was held ${more.toFixed(0)} ms longer than ${owner} could have requested`
  return { what, at: trusted }
}

/** A task ran although the database, whose changes were recorded, never granted its lock. */
function runsWithoutAcquisition({ acquisitions, runs }: History): Found[] {
  const [owners, names] = [new Set<string>(), new Set<string>()]
  for (const { owner, name } of acquisitions) {
    owners.add(owner)
    names.add(name)
  }
  return runs
    .filter(({ run, name }) => names.has(name) && !owners.has(run))
    .map(({ run, name, from }) => ({ what: `${run} ran '${name}' without having acquired it`, at: from }))
}

/** The row records another outcome than the run had, or a duration that it cannot have had. */
function wrongOutcome({ run, owner, name, changes, history }: Seen): Found | undefined {
  const release = changes.find(({ lockedBy }) => lockedBy !== owner)
  const ended = run?.ended
  if (!run || ended?.succeeded === undefined || !release?.lockedBy) return undefined
  const at = history.momentOf(release)
  const isHeld = release.lockUntil > release.at
  const { outcome, duration } =
    lastRunOf(release.lockedBy, isHeld, new Date(release.lockUntil), new Date(release.at)) ?? {}
  if (outcome !== (ended.succeeded ? 'succeeded' : 'failed'))
    return { what: `'${name}' of ${owner} records ${outcome ?? 'no outcome'}: ${release.lockedBy}`, at }
  const tolerance = history.limits.tolerance + history.limits.drift * (at - run.asked) + 1
  const [least, most] = [ended.at - run.from - tolerance, at - run.asked + tolerance]
  if (duration === undefined || (duration >= least && duration <= most)) return undefined
  const what = `'${name}' of ${owner} records ${duration} ms for a run of ${least.toFixed(0)} to ${most.toFixed(0)} ms`
  return { what, at }
}

/** A row that the harness destroyed proves nothing about the lock. */
function wasDestroyed(history: History, lock: string, takenAt: number, to: number): boolean {
  return history.destructionsOf(lock).some(({ wallTo, from }) => wallTo > takenAt && from < to)
}

/**
 * Finds rows that were still held a second after their run had ended and the primary could be reached to release them. Within the
 * lease this is only a figure: a release may be lost with the server that it reached.
 */
function sampledWithoutRun(history: History): Found[] {
  const longest = new Map<string, Found>()
  for (const { at, owners } of history.of('rows')) {
    const segment = history.of('segment').find(({ from, to }) => from <= at && at < to)
    for (const owner of owners) {
      const run = history.runOf.get(owner)
      if (!run) continue
      const since = at - Math.max(run.to, ...(segment?.reachable ?? []))
      if (since <= RELEASED_WITHIN) continue
      const isOver = at > run.to + run.longest + (segment?.clockAhead ?? 0) + history.limits.latestDelivery
      const what = `'${run.name}' was held by ${owner} ${since.toFixed(0)} ms after its run`
      longest.set(owner, { what, at, excused: isOver ? undefined : 'its lease was not over' })
    }
  }
  return [...longest.values()]
}

function tokenOfRow({ name, owner, take, left, next, history }: Seen): Found | undefined {
  // A lock that was not used gives its slot back.
  const token = Math.min(take.lockedAt, left?.lockedAt ?? Infinity)
  // A pause leaves the token as it is.
  const least = next?.lockedBy?.startsWith('paused by ') ? token : token + ROUNDING
  if (!next?.lockedBy || next.lockedAt >= least) return undefined
  const what = `'${name}' of ${next.lockedBy} has token ${next.lockedAt} after ${token} of ${owner}`
  return { what, at: history.momentOf(next) }
}

function tokenOfAnotherRow({ name, owner, take, history }: Seen): Found | undefined {
  const wrong = history.tokens.get(owner)
  if (!wrong || Math.abs(wrong.token - take.lockedAt) < 1) return undefined
  return { what: `${owner} got token ${wrong.token}, but '${name}' has ${take.lockedAt}`, at: wrong.at }
}

/** Compares the tokens that tasks were given, where no trigger sees the rows. */
function tokensOfRuns(history: History): Found[] {
  return byName(history.runs).flatMap((runs) => {
    let highest: EventOf<'token'> | undefined
    return runs.flatMap(({ run, name }) => {
      const token = history.tokens.get(run)
      const before = highest
      if (!token) return []
      if (!before || token.token > before.token) highest = token
      if (!before || token.token > before.token) return []
      // Without a name, all rows were destroyed, whose locks then have later times as tokens.
      const isDestroyed = history
        .destructionsOf(name)
        .some((fault) => fault.name === name && fault.to > before.at && fault.from < token.at)
      if (isDestroyed) return []
      return [{ what: `'${name}' of ${run} has token ${token.token} after ${before.token}`, at: token.at }]
    })
  })
}

function slotsRunTwice(history: History): Found[] {
  const rows = new Map(history.acquisitions.map((acquisition) => [acquisition.owner, acquisition]))
  /** When the success of a run was recorded: in its row, or if rows were not recorded, for its process. */
  const succeededAt = (run: string): number => {
    const { left } = rows.get(run) ?? {}
    if (left) return left.lockedBy?.endsWith(' succeeded') ? history.momentOf(left) : Infinity
    const { ended, unlocked = Infinity } = history.runOf.get(run) ?? {}
    return ended?.succeeded ? unlocked : Infinity
  }
  const ofAll = history.of('slot').toSorted((one, other) => one.at - other.at)
  return byName(ofAll).flatMap((slots) => {
    const done = new Map<number, { readonly run: string; readonly since: number }>()
    let latest = -Infinity
    return slots.flatMap(({ run, name, slot, until, at }) => {
      const { asked = at } = history.runOf.get(run) ?? {}
      const before = done.get(slot)
      const isAgain = before && asked >= before.since
      done.set(slot, { run, since: until ? succeededAt(run) : -Infinity })
      const what = isAgain
        ? `slot ${slot} of ${name} was run by ${before.run} and by ${run}`
        : slot < latest && `slot ${slot} of ${name} was run by ${run} after slot ${latest}`
      latest = Math.max(latest, slot)
      return what ? [{ what, at }] : []
    })
  })
}

/** The row does not record the slot that was acquired, or one of its retries. */
function slotsOfOtherRows(history: History): Found[] {
  const rows = new Map(history.acquisitions.map(({ owner, take }) => [owner, take]))
  return history.of('slot').flatMap(({ run, slot, at }) => {
    const { lockedAt } = rows.get(run) ?? {}
    if (lockedAt === undefined || lockedAt === slot || tokenOfRetry(slot, lockedAt) !== undefined) return []
    return [{ what: `${run} ran for slot ${slot}, but its row has ${lockedAt}`, at }]
  })
}

/** A slot is not acquired long before it is due, which would keep all others from running. */
function slotsAhead(history: History): Found[] {
  return history.changes.flatMap((changes) =>
    changes.flatMap((change, index) => {
      const { name, at, lockedAt } = change
      // The token after one from the future is in the future, too.
      const most = Math.max(at + SLOT_AT_MOST_AHEAD + 1, (changes[index - 1]?.lockedAt ?? 0) + 1)
      const ahead = lockedAt - at
      const what = `'${name}' was acquired for a slot that is ${ahead.toFixed(0)} ms ahead`
      return lockedAt > most + history.limits.tolerance ? [{ what, at: history.momentOf(change) }] : []
    }),
  )
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

/** Each refusal for this reason, with the last change of the row before it. */
function refusalsOf(history: History, reason: string) {
  const rows = new Map(history.changes.map((changes) => [changes[0]?.name, changes]))
  return byName(history.of('refused').filter((refused) => refused.reason === reason)).flatMap((refusals) => {
    const changes = rows.get(refusals[0]?.name) ?? []
    let next = 0
    return refusals
      .toSorted((a, b) => a.at - b.at)
      .flatMap((refused) => {
        // The row may have been changed just before the refusal.
        for (; next < changes.length; next++) {
          const change = changes[next]
          if (change && history.momentOf(change) > refused.at + history.limits.tolerance) break
        }
        const row = changes[next - 1]
        return row ? [{ ...refused, row }] : []
      })
  })
}

function refusalsOfFreeLocks(history: History): Found[] {
  return refusalsOf(history, 'held').flatMap(({ name, asked, at, row }) => {
    const changed = history.momentOf(row)
    const freeFrom = row.lockedBy === null ? changed : Math.max(changed, history.endOf(row))
    const free = asked - freeFrom
    const { timeLimit, tolerance, drift } = history.limits
    // The database's clock has ended the lease, and may be slower.
    if (free <= timeLimit + tolerance + drift * (freeFrom - changed)) return []
    return [{ what: `'${name}' was refused after it had been free for ${free.toFixed(0)} ms`, at }]
  })
}

/** A slot is refused only if a task ran for it, and if it is repeated until it has succeeded, only after that. */
function refusalsOfSlots(history: History): Found[] {
  const used = new Set(history.of('slot').map(({ name, slot }) => `${slot} ${name}`))
  return refusalsOf(history, 'already-run').flatMap(({ name, slot, until, asked, at, row }) => {
    if (slot === undefined || !row.lockedBy || history.momentOf(row) > asked - history.limits.tolerance)
      return []
    const what = `'${name}' refused slot ${slot} although its row has ${row.lockedBy}`
    if (until && tokenOfRetry(slot, row.lockedAt) !== undefined)
      return row.lockedBy.endsWith(' succeeded') ? [] : [{ what, at }]
    const isUnused = slot === row.lockedAt && RELEASED.test(row.lockedBy) && !used.has(`${slot} ${name}`)
    return isUnused ? [{ what: `${what}, and no task ran for it`, at }] : []
  })
}

/** Without a single run, all other rules would hold. */
function nothingAcquired(history: History): Found[] {
  // A simulated world may be too short.
  if (history.limits.longestUntaken === Infinity) return []
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
  return takesOf(history).filter(
    (take) => take.untaken > history.limits.longestUntaken && take.at >= from && take.at <= to,
  )
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
  return history.of('commit').flatMap(({ run, seen, guarded }) => {
    if (run === seen) return []
    const at = history.runOf.get(run)?.from
    const excused = guarded ? undefined : 'its transaction was not guarded'
    return [{ what: `${run} committed after ${seen} had begun`, at, excused }]
  })
}

function lostUpdates(history: History): Found[] {
  return history.of('resource').flatMap(({ name, value }) => {
    const commits = history.of('commit').filter((commit) => commit.name === name)
    const lost = Math.abs(commits.length - value)
    if (lost === 0) return []
    const excused = commits[0]?.guarded === true ? undefined : 'its tasks are not guarded'
    return [{ what: `${lost} lost updates of '${name}'`, excused }]
  })
}
