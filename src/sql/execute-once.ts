import {
  checkDuration,
  checkLockConfiguration,
  checkOptions,
  LockingTaskExecutor,
  SLOT_AT_MOST_AHEAD,
  slotTooFarAhead,
  WaitingLockProvider,
  type Duration,
  type LockingTaskExecutorListener,
  type Task,
  type TaskResult,
} from '../core'
import type { SqlLockProvider } from './sql-lock-provider'

/** What is to be done once, and how long to wait for who does it. */
export interface ExecuteOnceConfiguration {
  /** The lock's name, at most 59 characters. `name/done` remembers the slot that was done. */
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
  /** Whether the lock is extended while the task runs. Default `true`. */
  readonly keepAlive?: boolean | undefined
  /** Hear what happens, as those of an executor do. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
  /** Once it aborts, nobody waits any more, and a task that runs is asked to stop. */
  readonly signal?: AbortSignal | undefined
}

const OPTIONS = [
  ...['name', 'slot', 'wait', 'lockAtMostFor', 'lockAtLeastFor', 'keepAlive', 'listeners', 'signal'],
] as const
const MINUTE = 60_000

/**
 * For what must be done before an instance goes on, such as migrations: one instance does it, the others wait for that one.
 * They do not do it again if it succeeded for this slot, or for a later one; they do if it failed or if its holder died.
 *
 * @returns `{ executed: true, value }` if the task ran here, `{ executed: false, reason: 'already-run' }` if another instance
 *   has done it
 * @throws LockError `NOT_ACQUIRED` when somebody else held the lock until `wait` was over, `SHUTDOWN` when `signal` aborted,
 *   `INVALID_CONFIGURATION`, or as `provider.lock` does: it is then not known to be done. And what the task throws.
 */
export async function executeOnce<T>(
  provider: Pick<SqlLockProvider, 'lock' | 'listLocks'>,
  configuration: ExecuteOnceConfiguration,
  task: Task<T>,
): Promise<TaskResult<T>> {
  checkOptions(configuration, OPTIONS, 'configuration')
  const { wait = '5m', keepAlive = true, listeners, signal, lockAtMostFor = MINUTE } = configuration
  const { name, lockAtLeastFor } = configuration
  const done = checkLockConfiguration({
    name: `${name}/done`,
    lockAtMostFor: MINUTE,
    slot: configuration.slot,
  })
  const { slot } = done
  const isDone = async (): Promise<boolean> => {
    if (slot === undefined) return false
    const locks = await provider.listLocks()
    // By the database's clock. An empty table does not tell it, and under the lock the table is not empty.
    const now = locks[0]?.now.getTime() ?? slot
    if (slot > now + SLOT_AT_MOST_AHEAD) throw slotTooFarAhead(name, slot, SLOT_AT_MOST_AHEAD)
    return locks.some((lock) => lock.name === done.name && lock.lockedAt.getTime() >= slot)
  }
  const alreadyRun: TaskResult<never> = { executed: false, reason: 'already-run' }
  if (await isDone()) return alreadyRun

  const waiting = new WaitingLockProvider(provider, { timeout: checkDuration(name, 'wait', wait) })
  const executor = new LockingTaskExecutor(waiting, { listeners })
  const stop = (): void => void executor.shutdown({ timeout: 0 })
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  try {
    const result = await executor.executeWithLock<TaskResult<T>>(
      { name, lockAtMostFor, lockAtLeastFor, keepAlive, onNotAcquired: 'throw' },
      async (context) => {
        if (await isDone()) return alreadyRun
        // The answer may have taken longer than the lease.
        context.signal.throwIfAborted()
        const value = await task(context)
        // Who lost the lock cannot say that nobody else is at it. If nobody remembers, the next one does it again.
        if (slot !== undefined && context.lock.remaining() > 0)
          await provider
            .lock(done)
            .then((lock) => lock?.unlock())
            .catch(() => undefined)
        return { executed: true, value }
      },
    )
    return result.executed ? result.value : result
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
