import type { LockEvent, Segment } from '../history/events'
import { History } from '../history/history'
import { takesOf, violationsOf, type Finding } from '../history/referee'

export type Figures = Readonly<Record<string, string | number>>

/** Counts what happened in each segment, and in all of them. */
export function figuresOf(events: readonly LockEvent[], findings: readonly Finding[]): Figures[] {
  const history = new History(events)
  const takes = takesOf(history)
  const row = (fault: string, isWithin: (at: number | undefined) => boolean): Figures => {
    const within = takes.filter(({ at }) => isWithin(at))
    const found = findings.filter(({ at }) => isWithin(at))
    const broken = violationsOf(found).length
    return {
      fault,
      injected: history.of('fault').filter(({ from }) => isWithin(from)).length,
      acquired: history.runs.filter(({ from }) => isWithin(from)).length,
      broken,
      excused: found.length - broken,
      takeovers: within.filter(({ takeover }) => takeover).length,
      'longest untaken': `${Math.round(Math.max(0, ...within.map(({ untaken }) => untaken)))} ms`,
    }
  }
  const isIn =
    ({ from, to }: Segment) =>
    (at: number | undefined): boolean =>
      at !== undefined && at >= from && at < to
  return [...history.of('segment').map((each) => row(each.fault, isIn(each))), row('all', () => true)]
}
