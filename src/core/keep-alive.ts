import type { ActiveLock } from './lock'
import { type Cancel, whenOver } from './time'

const LONGEST_INTERVAL = 30_000
const SHORTEST_INTERVAL = 10

/**
 * Extends a lock by `lockAtMostFor` milliseconds whenever less than half of them remain, as long as any time remains. Cancel it when
 * the lock ends.
 */
export function keepAlive(lock: Pick<ActiveLock, 'remaining' | 'extend'>, lockAtMostFor: number): Cancel {
  let cancelTimer: Cancel | undefined
  const extendAt = (left: number): void => {
    cancelTimer = whenOver(
      () => (lock.remaining() > 0 ? lock.remaining() - left : 0),
      () => {
        if (lock.remaining() > 0) lock.extend(lockAtMostFor).then(extended, failed)
      },
    )
  }
  const extended = (): void => {
    extendAt(Math.min(lockAtMostFor / 2, lock.remaining() - SHORTEST_INTERVAL))
  }
  /** Tries again after half of the remaining time, or after 30 seconds if that is sooner, until the lease is over. */
  const failed = (): void => {
    const remaining = lock.remaining()
    extendAt(remaining - Math.max(SHORTEST_INTERVAL, Math.min(remaining / 2, LONGEST_INTERVAL)))
  }
  extended()
  return () => cancelTimer?.()
}
