import type { Event } from './event-log'

export interface Verdict {
  /** Seconds from the first run to the last. */
  readonly ticks: number
  readonly runs: number
  /** Runs of a tick that had already run. */
  readonly duplicates: number
  /** Runs that began while another was in progress. */
  readonly overlaps: number
  /** The longest time between the starts of two successive runs, in milliseconds. */
  readonly longestGapMs: number
  /** From the kill to the next run, in milliseconds; `null` if there was none. */
  readonly takeoverMs: number | null
  readonly runsOfEach: Readonly<Record<string, number>>
}

/** Judges by what the runs wrote to the database, in the order of the database's numbers. */
export function judge(events: readonly Event[]): Verdict {
  const runsOfTick = new Map<number, number>()
  const runsOfEach: Record<string, number> = {}
  const open = new Set<string>()
  let overlaps = 0
  let longestGapMs = 0
  let lastBegin: number | undefined
  let kill: Event | undefined
  let takeoverMs: number | null = null

  for (const event of events) {
    if (event.kind === 'begin') {
      overlaps += open.size
      open.add(runOf(event))
      runsOfTick.set(event.tick, (runsOfTick.get(event.tick) ?? 0) + 1)
      runsOfEach[event.process] = (runsOfEach[event.process] ?? 0) + 1
      if (lastBegin !== undefined) longestGapMs = Math.max(longestGapMs, event.at - lastBegin)
      lastBegin = event.at
      if (kill) takeoverMs ??= event.at - kill.at
    } else {
      open.delete(runOf(event))
      if (event.kind === 'killed') kill = event
    }
  }
  const runs = [...runsOfTick.values()].reduce((sum, count) => sum + count, 0)
  const ticks = [...runsOfTick.keys()]
  return {
    ticks: ticks.length === 0 ? 0 : (Math.max(...ticks) - Math.min(...ticks)) / 1000 + 1,
    runs,
    duplicates: runs - runsOfTick.size,
    overlaps,
    longestGapMs,
    takeoverMs,
    runsOfEach,
  }
}

function runOf({ process, tick }: Event): string {
  return `${process} ${tick}`
}
