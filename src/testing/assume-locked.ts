import { InMemoryLockProvider, LockingTaskExecutor, type Task } from '../core'

/**
 * Runs code that calls `assertLocked`, `activeLock` or `extendActiveLock` as if under a lock, without any database:
 *
 * ```ts
 * await assumeLocked(() => reports.sendAll())
 * ```
 *
 * Only what is called inside sees the lock, so that tests may run side by side. Gives what the task gives.
 */
export async function assumeLocked<T>(task: Task<T>): Promise<T> {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider())
  const result = await executor.executeWithLock({ name: 'assumed', lockAtMostFor: '1h' }, task)
  if (!result.executed) throw new Error('unreachable: nobody else has this provider')
  return result.value
}
