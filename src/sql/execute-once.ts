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

/** What is to be done once, and how long to wait for who does it. */
export interface ExecuteOnceConfiguration {
  /** The lock's name. */
  readonly name: string
  /**
   * When this was due, the same on every instance: for migrations, when this release was made. It is done once for each slot,
   * and not for one before. Default: none; everybody does it, one after the other.
   */
  readonly slot?: Date | number | undefined
  /** How long to wait for somebody who does it. Default 5 minutes. */
  readonly wait?: Duration | undefined
  /** How long others wait for one that died. Default 1 minute. */
  readonly lockAtMostFor?: Duration | undefined
  /** As in a lock configuration. Default 0. */
  readonly lockAtLeastFor?: Duration | undefined
  /** Whether the lock is extended while the task runs, and for how long at most: `{ atMost: '2h' }`. Default `true`. */
  readonly keepAlive?: boolean | KeepAliveOptions | undefined
  /** Hear what happens, as those of an executor do. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
  /** Once it aborts, nobody waits any more, and a task that runs is asked to stop. */
  readonly signal?: AbortSignal | undefined
}

const OPTIONS = [
  ...['name', 'slot', 'wait', 'lockAtMostFor', 'lockAtLeastFor', 'keepAlive', 'listeners', 'signal'],
] as const

/**
 * For what must be done before an instance goes on, such as migrations: one instance does it, the others wait for that one.
 * They do not do it again if it succeeded for this slot, or if a later one, or one without a slot, was begun since; they do if
 * it failed or if its holder died. If it succeeded and the lock was lost before, that may be forgotten: a process warning says so.
 *
 * @returns `{ executed: true, value }` if the task ran here, `{ executed: false, reason: 'already-run' }` if another instance
 *   has done it
 * @throws LockError `NOT_ACQUIRED` when somebody else held the lock until `wait` was over, `SHUTDOWN` when `signal` aborted,
 *   `INVALID_CONFIGURATION`, or as `provider.lock` does: it is then not known to be done. And what the task throws.
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
          warn(`'${name}' was done, but its lock was lost before, so that it may be done again.`)
        return value
      },
    )
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
