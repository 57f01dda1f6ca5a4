import type { LockEvent, Segment } from '../history/events'
import { History } from '../history/history'
import { takesOf, type Finding, type Rule } from '../history/referee'

const BY_RULE: readonly (readonly [column: string, rule: Rule, isExcused: boolean])[] = [
  ['overlaps', 'exclusion', false],
  ['row destroyed', 'exclusion', true],
  ['stale guarded', 'guard', false],
  ['stale unguarded', 'guard', true],
  ['cut short', 'leases', false],
  ['freed early', 'lockAtLeastFor', false],
  ['held by nobody', 'ends', false],
  ['not aborted', 'signals', false],
  ['lost results', 'results', false],
  ['not given', 'refusals', false],
]

export type Figures = Readonly<Record<string, string | number>>

/** Counts what happened in each segment, and in all of them. */
export function figuresOf(events: readonly LockEvent[], findings: readonly Finding[]): Figures[] {
  const history = new History(events)
  const takes = takesOf(history)
  const row = (fault: string, isWithin: (at: number | undefined) => boolean): Figures => {
    const within = takes.filter(({ at }) => isWithin(at))
    const counted = BY_RULE.map(([column, rule, isExcused]) => {
      const found = findings.filter((finding) => finding.rule === rule && isWithin(finding.at))
      return [column, found.filter(({ excused }) => (excused !== undefined) === isExcused).length] as const
    })
    return {
      fault,
      injected: history.of('fault').filter(({ from }) => isWithin(from)).length,
      acquired: history.runs.filter(({ from }) => isWithin(from)).length,
      ...Object.fromEntries(counted),
      takeovers: within.filter(({ takeover }) => takeover).length,
      'longest untaken': `${Math.round(Math.max(0, ...within.map(({ untaken }) => untaken)))} ms`,
    }
  }
  const isIn =
    ({ from, to }: Segment) =>
    (at: number | undefined): boolean =>
      at !== undefined && at >= from && at < to
  return [
    ...history.of('segment').map((segment) => row(segment.fault, isIn(segment))),
    row('all', () => true),
  ]
}
