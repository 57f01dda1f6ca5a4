import { LockError } from './errors'
import { notify, type LockEvent, type LockingTaskExecutorListener } from './listener'
import type { ActiveLock } from './lock'
import { type Cancel, whenOver } from './time'

const LONGEST_PAUSE = 30_000
const SHORTEST_PAUSE = 10

/** Extends a lock by `lockAtMostFor` milliseconds whenever less than half of them are left, until it is cancelled or lost. */
export function keepAlive(
  lock: Pick<ActiveLock, 'remaining'> & { extend(lockAtMostFor: number): Promise<unknown> },
  lockAtMostFor: number,
): Cancel {
  let isOver = false
  let cancelTimer: Cancel | undefined
  const extendAt = (left: number): void => {
    if (isOver) return
    cancelTimer = whenOver(
      () => (lock.remaining() > 0 ? lock.remaining() - left : 0),
      () => {
        if (lock.remaining() > 0) lock.extend(lockAtMostFor).then(extended, failed)
      },
    )
  }
  const extended = (): void => {
    extendAt(Math.min(lockAtMostFor / 2, lock.remaining() - SHORTEST_PAUSE))
  }
  /** It is tried again at half of what remains, until nothing does. */
  const failed = (): void => {
    const remaining = lock.remaining()
    extendAt(remaining - Math.max(SHORTEST_PAUSE, Math.min(remaining / 2, LONGEST_PAUSE)))
  }
  extended()
  return () => {
    isOver = true
    cancelTimer?.()
  }
}

/** Tells the listeners the outcome of an extension. One that comes too late is a lost lock, of which they hear elsewhere. */
export async function tellExtension(
  listeners: readonly LockingTaskExecutorListener[],
  event: LockEvent,
  extend: () => Promise<unknown>,
): Promise<void> {
  try {
    await extend()
  } catch (error) {
    const isOver = error instanceof LockError && ['LOCK_LOST', 'NOT_LOCKED'].includes(error.code)
    if (!isOver) notify(listeners, 'onExtendFailed', { ...event, error })
    throw error
  }
  notify(listeners, 'onLockExtended', event)
}
