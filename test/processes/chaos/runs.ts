import type { ProcessEntry } from './history'

/** One acquisition as its own process recorded it. Times are monotonic. */
export interface Run {
  readonly run: string
  readonly name: string
  readonly asked: number
  readonly from: number
  /** When the process stopped considering the lock held. */
  to: number
  /** Because of `lockAtLeastFor`, no other process may acquire the lock before this time. */
  notBefore: number
  /** The longest `lockAtMostFor` that was requested. */
  longest: number
  ended?: number
  unlocked?: number
}

/** Returns the runs of a process. A run lasts from the acquisition until its task has ended or its lease is over. */
export function runsOf(history: readonly ProcessEntry[]): Run[] {
  const runs = new Map<string, Run>()
  for (const entry of history) {
    if (entry.type === 'acquired') {
      const { run, name, asked, at, until, notBefore, lockAtMostFor } = entry
      runs.set(run, { run, name, asked, from: at, to: until, notBefore, longest: lockAtMostFor })
      continue
    }
    const run = 'run' in entry ? runs.get(entry.run) : undefined
    if (run) follow(run, entry)
  }
  return [...runs.values()]
}

function follow(run: Run, entry: ProcessEntry): void {
  if (entry.type === 'extending') run.longest = Math.max(run.longest, entry.lockAtMostFor)
  if (entry.type === 'extended') {
    if (run.ended === undefined) run.to = entry.until
    if (entry.lockAtLeastFor !== undefined) run.notBefore = run.asked + entry.lockAtLeastFor
  }
  if (entry.type === 'ended') {
    run.ended = entry.at
    run.to = Math.min(run.to, entry.at)
  }
  if (entry.type === 'unlocked') run.unlocked = entry.at
}
