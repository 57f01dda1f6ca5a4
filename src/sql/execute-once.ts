import {
  checkDuration,
  checkLockName,
  checkOptions,
  LockingTaskExecutor,
  skipError,
  WaitingLockProvider,
  warn,
  type Duration,
  type KeepAliveOptions,
  type LockingTaskExecutorListener,
  type LockProvider,
  type Task,
  type TaskResult,
} from '../core'

/** What to do once, and how long to wait for another instance that does it. */
export interface ExecuteOnceConfiguration {
  /** The lock's name. */
  readonly name: string
  /**
   * When the task was due, the same on every instance: for migrations, the time at which this release was made. The task runs once
   * for each slot, and never for an earlier one. Default: no slot; every instance runs the task, one after the other.
   */
  readonly slot?: Date | number | undefined
  /** How long to wait while another instance runs the task. Default 5 minutes. */
  readonly wait?: Duration | undefined
  /** How long the others wait for an instance that died. Default 1 minute. */
  readonly lockAtMostFor?: Duration | undefined
  /** As in a lock configuration. Default 0. */
  readonly lockAtLeastFor?: Duration | undefined
  /** Whether the lock is extended while the task runs, and for how long at most: `{ atMost: '2h' }`. Default `true`. */
  readonly keepAlive?: boolean | KeepAliveOptions | undefined
  /** Listeners to what happens, as of an executor. Default: none. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
  /** When it aborts, this call stops waiting, and the signal of a running task aborts. */
  readonly signal?: AbortSignal | undefined
}

const OPTIONS = [
  ...['name', 'slot', 'wait', 'lockAtMostFor', 'lockAtLeastFor', 'keepAlive', 'listeners', 'signal'],
] as const

/**
 * Runs a task that must be done before any instance goes on, such as migrations: one instance runs it, and the others wait. They
 * skip it if it has succeeded for this slot, or if a run for a later slot, or one without a slot, has begun since; they run it if it
 * failed or its instance died. If the lock was lost before the task succeeded, another instance may run it again: a process warning
 * says so.
 *
 * @returns `{ executed: true, value }` if the task ran here, `{ executed: false, reason: 'already-run' }` if another instance
 *   has done it
 * @throws LockError `NOT_ACQUIRED` when somebody else held the lock until `wait` was over, `SHUTDOWN` when `signal` aborted,
 *   `INVALID_CONFIGURATION`, or as `provider.lock` does: the task is then not known to be done. Also what the task throws
 */
export async function executeOnce<T>(
  provider: LockProvider,
  configuration: ExecuteOnceConfiguration,
  task: Task<T>,
): Promise<TaskResult<T>> {
  checkOptions(configuration, OPTIONS, 'configuration')
  const { wait = '5m', lockAtMostFor = '1m', keepAlive = true, slot, listeners, signal } = configuration
  const name = checkLockName(configuration.name)
  // With `lock` alone: the end of this executor ends nothing of the provider, which others use.
  const locks: LockProvider = { lock: (...request) => provider.lock(...request) }
  const waiting = new WaitingLockProvider(locks, { timeout: checkDuration(name, 'wait', wait) })
  const executor = new LockingTaskExecutor(waiting, { listeners })
  const stop = (): void => void executor.shutdown({ timeout: 0 })
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  try {
    return await executor.executeWithLock(
      {
        ...{ name, slot, untilSucceeded: true, lockAtMostFor, keepAlive },
        lockAtLeastFor: configuration.lockAtLeastFor,
        onNotAcquired(event) {
          if (event.reason !== 'already-run') throw skipError(event)
        },
      },
      async (context) => {
        const value = await task(context)
        if (context.lock.remaining() === 0)
          warn(
            `'${name}' was done, but its lock was lost before it ended, so another instance may do it again.`,
          )
        return value
      },
    )
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
