import type { Attempt, History, Instance, Section, Segment } from './history'

export interface Overlap {
  readonly job: string
  /** The fault during or after which the overlap began. */
  readonly fault: string
  readonly milliseconds: number
}

/** The effect of all faults of one kind. */
export interface FaultFigures {
  readonly fault: string
  readonly times: number
  /** For each fault, milliseconds from when the new primary was reachable until any process acquired a lock. */
  readonly firstLock: readonly number[]
  /**
   * For each fault, milliseconds from when the new primary was reachable until every process had got an answer. `Infinity` if a
   * process got none before the harness gave up.
   */
  readonly answered: readonly number[]
  /** The number of failed attempts that began after the new primary was reachable. */
  readonly failed: number
  /** The number of failed attempts that began before. */
  readonly failedBefore: number
  /** For each fault, the connections that were opened in its course, and those that were open in the end. */
  readonly connections: readonly Segment['connections'][]
}

export interface Figures {
  readonly sections: number
  /** Runs that began while another run of the same job was in progress. */
  readonly overlaps: readonly Overlap[]
  readonly slotsTwice: number
  readonly fallingTokens: number
  /** Locks that their holders lost. */
  readonly lost: number
  /**
   * For each row that stayed held for more than a second after its run had ended and the primary was reachable, for how many
   * milliseconds.
   */
  readonly heldByNobody: readonly number[]
  readonly faults: readonly FaultFigures[]
  /** Processes that ended because a driver threw an error in its socket's event handlers. */
  readonly driverCrashes: number
  /** The number of times that each error was thrown. */
  readonly errors: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

const HELD_BY_NOBODY = 1_000

/** @param loses whether a failover of this cluster may lose acknowledged writes */
export function count({ instances, segments, samples, crashes, broken }: History, loses: boolean): Figures {
  const entries = instances.flatMap((instance) => instance.entries)
  const sections = entries
    .filter((entry): entry is Section => entry.type === 'section')
    .sort((one, other) => one.from - other.from)
  const byJob = groups(sections, ({ job }) => job)
  const sum = (countIn: (group: readonly Section[]) => number): number =>
    [...byJob.values()].reduce((total, group) => total + countIn(group), 0)

  const errors: Record<string, number> = {}
  for (const entry of entries)
    if (entry.type === 'attempt' && typeof entry.outcome === 'object') {
      const error = entry.outcome.error.replace(/'[^']*'/g, '…').replace(/\d{3,} ms/g, '… ms')
      errors[error] = (errors[error] ?? 0) + 1
    }

  const figures = {
    sections: sections.length,
    overlaps: [...byJob.values()].flatMap((group) => overlapsIn(group, segments)),
    slotsTwice: sum(slotsTwiceIn),
    fallingTokens: sum(fallingTokensIn),
    lost: sections.filter(({ lost }) => lost).length,
    heldByNobody: heldByNobody(sections, { samples, segments }),
    faults: [...groups(segments, ({ fault }) => fault)].map(([fault, group]) =>
      faultFigures(fault, group, { instances }),
    ),
    driverCrashes: crashes.filter(({ origin }) => origin === 'driver').length,
    errors,
  }
  const ended = crashes.flatMap(({ origin, error }) => (origin === 'library' ? [error] : []))
  return {
    ...figures,
    violations: [...violationsOf(figures, loses), ...ended, ...(broken === undefined ? [] : [broken])],
  }
}

function groups<T>(all: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>()
  for (const item of all) found.set(keyOf(item), [...(found.get(keyOf(item)) ?? []), item])
  return found
}

function violationsOf(
  { sections, overlaps, slotsTwice, fallingTokens, faults }: Omit<Figures, 'violations'>,
  loses: boolean,
): string[] {
  const broken = {
    overlaps: overlaps.filter(isBroken).length,
    'slots run twice': slotsTwice,
    'falling tokens': fallingTokens,
  }
  const promises = Object.entries(broken).flatMap(([what, times]) => (times > 0 ? [`${times} ${what}`] : []))
  const seen =
    loses && overlaps.length === 0
      ? ['no overlap although acknowledged writes were lost, so the harness detects nothing']
      : []
  // Slow answers are figures, not violations, because a busy machine delays them.
  const pinned = faults.flatMap(({ fault, firstLock, answered }) =>
    [...firstLock, ...answered]
      .filter((time) => time === Infinity)
      .map(() => `${fault}: a process got no answer from the new primary`),
  )
  return [...(sections === 0 ? ['no job ran'] : []), ...(loses ? seen : promises), ...pinned]
}

/** In milliseconds, by how much the new primary's clock is ahead. Locks expire earlier by that much, which breaks no promise. */
const AHEAD = 2_000
const isBroken = ({ fault, milliseconds }: Overlap): boolean =>
  fault !== 'one clock ahead' || milliseconds > AHEAD

export function overlapsIn(sections: readonly Section[], segments: readonly Segment[]): Overlap[] {
  let end = -Infinity
  return sections.flatMap(({ job, from, to }) => {
    const milliseconds = Math.round(Math.min(end, to) - from)
    const isOverlap = from < end
    end = Math.max(end, to)
    const fault = segments.findLast((segment) => segment.from <= from)?.fault ?? 'none'
    return isOverlap ? [{ job, fault, milliseconds }] : []
  })
}

/** Counts repeated slots. With `untilSucceeded` a repetition counts only after a recorded success. */
export function slotsTwiceIn(sections: readonly Section[]): number {
  const done = new Set<number>()
  let twice = 0
  for (const { slot, job, recorded } of sections) {
    if (slot === undefined) continue
    if (done.has(slot)) twice++
    if (recorded || !job.includes('until succeeded')) done.add(slot)
  }
  return twice
}

export function fallingTokensIn(sections: readonly Section[]): number {
  let highest = -Infinity
  let falling = 0
  for (const { token } of sections) {
    if (token === undefined) continue
    if (token <= highest) falling++
    highest = Math.max(highest, token)
  }
  return falling
}

/**
 * Returns how long rows stayed held without a run, not counting the time in which the primary could not be reached to release them.
 */
function heldByNobody(
  sections: readonly Section[],
  { samples, segments }: Pick<History, 'samples' | 'segments'>,
): number[] {
  const ends = new Map(sections.map(({ owner, to }) => [owner, to]))
  const held = new Map<string, number>()
  for (const { at, owners } of samples) {
    const segment = segments.find(({ from, to }) => from <= at && at < to)
    const reachable = Math.max(-Infinity, ...(segment?.reachable ?? []))
    for (const owner of owners) {
      const since = at - Math.max(ends.get(owner) ?? Infinity, reachable)
      if (since > HELD_BY_NOBODY) held.set(owner, Math.round(since))
    }
  }
  return [...held.values()]
}

/** Selects the processes that made an attempt before the fault and outlived it: others were started or stopped meanwhile. */
function livedThrough(from: number, to: number) {
  return ({ entries, endedAt }: Instance): boolean =>
    endedAt > to && entries.some((entry) => entry.type === 'attempt' && entry.at < from)
}

function faultFigures(
  fault: string,
  segments: readonly Segment[],
  { instances }: Pick<History, 'instances'>,
): FaultFigures {
  const isFailed = ({ outcome }: Attempt): boolean => typeof outcome === 'object'
  const effects = segments.map(({ from, to, reachable }) => {
    const attempts = instances.map((instance) => {
      const { entries, address } = instance
      const since = reachable[address] ?? Infinity
      const all = entries.filter(
        (entry): entry is Attempt => entry.type === 'attempt' && entry.to >= from && entry.at < to,
      )
      return {
        since,
        lived: livedThrough(from, to)(instance),
        made: all.filter((attempt) => attempt.to >= since),
        failedBefore: all.filter((attempt) => attempt.at < since && isFailed(attempt)).length,
      }
    })
    const firsts = attempts.map(({ since, lived, made, failedBefore }) => {
      const after = made.filter(({ at }) => at >= since)
      const first = (outcomes: readonly unknown[], of: readonly Attempt[]) =>
        Math.min(
          Infinity,
          ...of.filter(({ outcome }) => outcomes.includes(outcome)).map((attempt) => attempt.to - since),
        )
      return {
        failedBefore,
        lock: first(['acquired'], made),
        // A process that a driver ended, or that replaced it, gives no answer.
        answer: lived ? first(['acquired', 'refused'], after) : 0,
        failed: after.filter(isFailed).length,
      }
    })
    return {
      firstLock: Math.round(Math.min(...firsts.map(({ lock }) => lock))),
      answered: Math.round(Math.max(...firsts.map(({ answer }) => answer))),
      failed: firsts.reduce((sum, { failed }) => sum + failed, 0),
      failedBefore: firsts.reduce((sum, { failedBefore }) => sum + failedBefore, 0),
    }
  })
  return {
    fault,
    times: effects.length,
    firstLock: effects.map(({ firstLock }) => firstLock),
    answered: effects.map(({ answered }) => answered),
    failed: effects.reduce((sum, { failed }) => sum + failed, 0),
    failedBefore: effects.reduce((sum, { failedBefore }) => sum + failedBefore, 0),
    connections: segments.map(({ connections }) => connections),
  }
}
