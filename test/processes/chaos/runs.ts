import type { ProcessEntry } from './history'

/** One acquisition as its own process knew it; times are monotonic. */
export interface Run {
  readonly run: string
  readonly name: string
  readonly asked: number
  readonly from: number
  /** Until then the lock was trusted. */
  to: number
  /** Nobody else is to have the lock before that, as its `lockAtLeastFor` says. */
  notBefore: number
  /** The longest `lockAtMostFor` that was asked for. */
  longest: number
  ended?: number
  unlocked?: number
}

/** From the moment a process has its lock until its task is over, or it knows that the lease is. */
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
