import type { LockRecord } from '../../src/sql/records'

/**
 * Returns where a reader takes a row for something else than its author meant, whose locks have owners of `version|outcome`, and maybe the
 * error of a failed run.
 */
export function misreadings({ lockedBy, held, paused, lockUntil, now, lastRun }: LockRecord): string[] {
  const [, outcome] = /^[^|]+\|(\w+)(?: threw [^/]+)?\//.exec(lockedBy) ?? []
  const isPause = lockedBy.startsWith('paused by ')
  const found: string[] = []
  if (outcome === undefined && !isPause) found.push('an unknown owner')
  if (held !== lockUntil > now) found.push('held, or not, against its own times')
  if (paused !== (held && isPause)) found.push('paused, or not, against its owner')
  if (!lastRun) return found
  if (isPause) found.push('a pause taken for a run')
  // Some locks are never released, and some are released without their outcome.
  if (outcome !== undefined && ![outcome, 'unlocked', 'died'].includes(lastRun.outcome))
    found.push(`'${lastRun.outcome}', but its author meant '${outcome}'`)
  if (held && lastRun.outcome === 'died') found.push('dead, although its lease is not over')
  return found
}
