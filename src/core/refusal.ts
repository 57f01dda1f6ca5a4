import type { LockHolder, RefusalReason } from './lock'

/**
 * Why a task was skipped.
 *
 * - `held` somebody else holds the lock
 * - `already-run` the lock was given for this slot, or for a later one
 * - `nested` the task runs inside its own lock, where a task of the same name runs already
 * - `shutdown` the executor was shut down
 */
export type SkipReason = RefusalReason | 'nested' | 'shutdown'

/** Why a task was skipped, as far as it is known. */
export interface Refusal {
  readonly reason: SkipReason
  /** Who holds the lock, where the provider knows without another question: not on PostgreSQL. */
  readonly holder?: LockHolder | undefined
}

const WHY: Readonly<Record<SkipReason, string>> = {
  held: 'is held by somebody else',
  'already-run': 'was given for this slot, or for a later one',
  nested: 'is already used by another task inside its own task',
  shutdown: 'was not asked for, because the executor shuts down',
}

/** Why, for people: the rest of a sentence that begins with the lock. */
export function why({ reason, holder }: Refusal): string {
  if (reason !== 'held' || !holder) return WHY[reason]
  const { lockedBy, lockUntil } = holder
  const by = lockedBy.startsWith('paused by ') ? lockedBy : `held by ${lockedBy}`
  return `is ${by} until ${lockUntil.toISOString()}`
}
