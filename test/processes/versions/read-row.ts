import type { LockRecord } from '../../../src/sql/internal'

/** What a version wrote into the owner of its locks: itself, and how the run of this lock ends, if its releases tell. */
export interface Author {
  readonly version: string
  readonly knowsOutcomes: boolean
  readonly outcome: string
}

function authorOf({ lockedBy }: LockRecord): Author | undefined {
  const [, version = '', knowsOutcomes, outcome = ''] = /^([^|]+)\|(true|false)\|(\w+)\//.exec(lockedBy) ?? []
  return knowsOutcomes === undefined
    ? undefined
    : { version, knowsOutcomes: knowsOutcomes === 'true', outcome }
}

/** What a reader takes a row for, in a word. */
export function takenFor(row: LockRecord): { author: string; as: string } {
  const [, pausedBy] = /^paused by ([^:]*): /.exec(row.lockedBy) ?? []
  const as = row.paused ? 'paused' : (row.lastRun?.outcome ?? (row.held ? 'held' : 'free'))
  return { author: pausedBy ?? authorOf(row)?.version ?? 'nobody', as }
}

/** Where what a reader takes a row for is not what its author meant. `knowsOutcomes`: the reader's version records them. */
export function misreadings(row: LockRecord, knowsOutcomes: boolean): string[] {
  const { lockedBy, held, paused, lockUntil, now, lastRun } = row
  const author = authorOf(row)
  const isPause = lockedBy.startsWith('paused by ')
  const found: string[] = []
  if (!author && !isPause) found.push('an owner that nobody wrote')
  // The version without outcomes may show two moments in one row, because its statement reads the clock twice.
  if (knowsOutcomes && held !== lockUntil > now) found.push('held, or not, against its own times')
  if (paused !== (held && isPause)) found.push('paused, or not, against its owner')
  if (!knowsOutcomes && lastRun) found.push('an outcome from a version that knows none')
  if (!knowsOutcomes || !lastRun) return found
  const { outcome } = lastRun
  if (isPause) found.push('a pause taken for a run')
  // A release without a word is all that a version says that knows no outcomes.
  const meant = author?.knowsOutcomes ? [author.outcome, 'unlocked', 'died'] : ['unlocked']
  if (author && !meant.includes(outcome))
    found.push(`'${outcome}', where its author meant ${meant.join(', ')}`)
  if (held && outcome === 'died') found.push('dead, though its lease goes on')
  return found
}
