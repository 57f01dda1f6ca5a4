import type { LockingTaskExecutorListener } from '../../src/core/listener'

export const EVENTS = [
  'onLockAttempt',
  'onLockAcquired',
  'onLockNotAcquired',
  'onLockFailed',
  'onTaskStarted',
  'onTaskFinished',
  'onLockExtended',
  'onExtendFailed',
  'onLockLost',
  'onUnlockFailed',
] as const satisfies readonly (keyof LockingTaskExecutorListener)[]

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
