import type { Duration } from './duration'
import { LockError } from './errors'
import type { SimpleLock } from './lock'
import { spendableLock } from './spendable-lock'
import type { WatchedLock } from './watched-lock'

/** A watched lock as a `SimpleLock`: for providers that wrap another one. */
export function simpleLockOf(watched: WatchedLock): SimpleLock {
  let replaced = false
  return spendableLock({
    name: watched.name,
    acquisition: watched.acquisition,
    signal: watched.signal,
    remaining: () => (replaced ? 0 : watched.remaining()),
    unlock: () => watched.end(),
    extend: async (lockAtMostFor, lockAtLeastFor) => {
      replaced = await isExtended(watched, lockAtMostFor, lockAtLeastFor)
      return replaced ? simpleLockOf(watched) : undefined
    },
  })
}

async function isExtended(
  watched: WatchedLock,
  lockAtMostFor: Duration,
  lockAtLeastFor: Duration | undefined,
): Promise<boolean> {
  try {
    await watched.extend(lockAtMostFor, lockAtLeastFor)
    return true
  } catch (error) {
    if (!(error instanceof LockError) || !['LOCK_LOST', 'NOT_LOCKED'].includes(error.code)) throw error
    // The row may have been extended by an answer that came too late for us to trust it.
    await watched.end().catch(() => undefined)
    return false
  }
}
