import type { EventOf, LockEvent, Segment } from '../history/events'
import { grouped, History } from '../history/history'

export type FaultFigures = ReturnType<typeof faultFigures>

/** Counts what a run showed. */
export function count(events: readonly LockEvent[]) {
  const history = new History(events)
  const errorOf = ({ error }: EventOf<'failed'>): string =>
    error.replace(/'[^']*'/g, '…').replace(/\d{3,} ms/g, '… ms')
  const segments = grouped(history.of('segment'), ({ fault }) => fault)
  return {
    runs: history.runs.length,
    /** Locks that their holders lost. */
    lost: history.of('ended').filter(({ lost }) => lost).length,
    faults: [...segments].map(([fault, group]) => faultFigures(fault, group, history)),
    /** The failed attempts by their errors. */
    errors: grouped(history.of('failed'), errorOf),
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

/** The effect of all faults of one kind. */
function faultFigures(fault: string, segments: readonly Segment[], history: History) {
  const instances = instancesOf(history)
  const effects = segments.map((segment) => instances.map((instance) => effectOn(instance, segment)))
  const numbers = (of: keyof Effect): number[][] =>
    effects.map((ofAll) => ofAll.map((effect) => Math.round(effect[of])))
  const sum = (of: keyof Effect): number =>
    numbers(of)
      .flat()
      .reduce((total, each) => total + each, 0)
  return {
    fault,
    times: segments.length,
    /** For each fault, milliseconds from when the new primary was reachable until any process acquired a lock. */
    firstLock: numbers('lock').map((times) => Math.min(...times)),
    /**
     * For each fault, milliseconds from when the new primary was reachable until every process had got an answer. `Infinity` if a
     * process got none before the harness gave up.
     */
    answered: numbers('answer').map((times) => Math.max(...times)),
    /** The number of failed attempts that began after the new primary was reachable. */
    failed: sum('failed'),
    /** The number of failed attempts that began before. */
    failedBefore: sum('failedBefore'),
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
