import type { EventOf, LockEvent, Segment } from '../history/events'
import { grouped, History } from '../history/history'
import { judge, violationsOf, type Finding } from '../history/referee'

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
  readonly connections: readonly { readonly opened: number; readonly left: number }[]
}

export interface Figures {
  readonly runs: number
  /** Locks that their holders lost. */
  readonly lost: number
  readonly findings: readonly Finding[]
  readonly faults: readonly FaultFigures[]
  /** The number of times that each error was thrown. */
  readonly errors: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

/** Counts what a run showed, and judges it. */
export function count(events: readonly LockEvent[]): Figures {
  const history = new History(events)
  const errors: Record<string, number> = {}
  for (const { error: text } of history.of('failed')) {
    const error = text.replace(/'[^']*'/g, '…').replace(/\d{3,} ms/g, '… ms')
    errors[error] = (errors[error] ?? 0) + 1
  }
  const segments = grouped(history.of('segment'), ({ fault }) => fault)
  const faults = [...segments].map(([fault, group]) => faultFigures(fault, group, history))
  const findings = judge(events)
  // Slow answers are figures, not violations, because a busy machine delays them.
  const pinned = faults.flatMap(({ fault, firstLock, answered }) =>
    [...firstLock, ...answered]
      .filter((time) => time === Infinity)
      .map(() => `${fault}: a process got no answer from the new primary`),
  )
  return {
    runs: history.runs.length,
    lost: history.of('ended').filter(({ lost }) => lost).length,
    findings,
    faults,
    errors,
    violations: [...violationsOf(findings).map(({ rule, what }) => `${rule}: ${what}`), ...pinned],
  }
}

type Attempt = EventOf<'acquired' | 'refused' | 'failed'>

/** The processes of a run, with their requests for locks. */
function instancesOf(history: History) {
  const attempts = grouped(
    history.events.filter((event): event is Attempt => 'asked' in event && event.type !== 'paused'),
    ({ process }) => process,
  )
  return history.of('started').map(({ process, address = 0 }) => ({
    address,
    attempts: attempts.get(process) ?? [],
    endedAt: history.of('exited').find((exited) => exited.process === process)?.at ?? Infinity,
  }))
}

function faultFigures(fault: string, segments: readonly Segment[], history: History): FaultFigures {
  const instances = instancesOf(history)
  const effects = segments.map((segment) => instances.map((instance) => effectOn(instance, segment)))
  const numbers = (of: keyof Effect): number[][] =>
    effects.map((ofAll) => ofAll.map((effect) => Math.round(effect[of])))
  const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0)
  return {
    fault,
    times: segments.length,
    firstLock: numbers('lock').map((times) => Math.min(...times)),
    answered: numbers('answer').map((times) => Math.max(...times)),
    failed: sum(numbers('failed').flat()),
    failedBefore: sum(numbers('failedBefore').flat()),
    connections: segments.flatMap(({ connections }) => connections ?? []),
  }
}

type Effect = ReturnType<typeof effectOn>

/** What one fault meant for one process. */
function effectOn(
  { address, attempts, endedAt }: ReturnType<typeof instancesOf>[number],
  { from, to, reachable = [] }: Segment,
) {
  const since = reachable[address] ?? Infinity
  const all = attempts.filter(({ at, asked }) => at >= from && asked < to)
  const made = all.filter(({ at }) => at >= since)
  const after = made.filter(({ asked }) => asked >= since)
  const first = (types: readonly Attempt['type'][], of: readonly Attempt[]) =>
    Math.min(Infinity, ...of.filter(({ type }) => types.includes(type)).map(({ at }) => at - since))
  const isFailed = ({ type }: Attempt): boolean => type === 'failed'
  // Others were started or stopped meanwhile, and give no answer.
  const livedThrough = endedAt > to && attempts.some(({ asked }) => asked < from)
  return {
    lock: first(['acquired'], made),
    answer: livedThrough ? first(['acquired', 'refused'], after) : 0,
    failed: after.filter(isFailed).length,
    failedBefore: all.filter((attempt) => attempt.asked < since && isFailed(attempt)).length,
  }
}
