import type { LockingTaskExecutorListener } from '../../src/core/internal'

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

/** A listener that notes what it hears as `event name`. */
export function recorder(): { listener: LockingTaskExecutorListener; heard: string[] } {
  const heard: string[] = []
  const note = (event: string) => [
    event,
    ({ name }: { name: string }) => {
      heard.push(`${event} ${name}`)
    },
  ]
  return { heard, listener: Object.fromEntries(EVENTS.map(note)) as LockingTaskExecutorListener }
}
