import type { LockingTaskExecutorListener } from '../../src/core/listener'

/** All events. If one is missing, this does not compile. */
export const EVENTS = Object.keys({
  onLockAttempt: true,
  onLockAcquired: true,
  onLockNotAcquired: true,
  onLockFailed: true,
  onTaskStarted: true,
  onTaskFinished: true,
  onLockExtended: true,
  onExtendFailed: true,
  onLockLost: true,
  onUnlockFailed: true,
} satisfies Record<keyof LockingTaskExecutorListener, true>) as (keyof LockingTaskExecutorListener)[]

/** A listener that notes what it hears as `event name`, and why a lock was not acquired. */
export function recorder(): { listener: LockingTaskExecutorListener; heard: string[] } {
  const heard: string[] = []
  const note = (event: string) => [
    event,
    ({ name, reason }: { name: string; reason?: string }) => {
      heard.push([event, name, reason].filter(Boolean).join(' '))
    },
  ]
  return { heard, listener: Object.fromEntries(EVENTS.map(note)) as LockingTaskExecutorListener }
}
