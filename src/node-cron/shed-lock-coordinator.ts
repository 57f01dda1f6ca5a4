import {
  parseListeners,
  parseOptions,
  parseProvider,
  configurationError,
  LockError,
  LockingTaskExecutor,
  type LockingTaskExecutorListener,
  type LockProvider,
  type ShutdownOptions,
} from '../core/internal'

/**
 * Creates a coordinator that lets each fire of a node-cron task with `distributed: true` run on one instance only, even if the run is
 * short or other instances fire late. Call `setRunCoordinator(shedLockCoordinator(provider))` before `schedule`.
 *
 * Each fire acquires a lock whose name is that of the task, and whose slot is the time at which the fire is due. The lock is released
 * when the run ends, and expires after the task's `distributedLease`. Nothing extends it, so choose `distributedLease` well above the
 * longest run. While the lock is held, further fires are skipped.
 *
 * If it is unknown whether the lock was acquired, node-cron skips the fire as `coordinator-error`. node-cron does not report
 * whether a run succeeded, so the lock's row records `unlocked`.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockCoordinator(
  provider: LockProvider,
  options: {
    /**
     * Listeners for metrics and logs, as for an executor. Events have the node-cron task's name as the lock's name. node-cron does not
     * report whether a run failed, so the outcome in `onTaskFinished` is always `succeeded`. Default: none.
     */
    readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
  } = {},
): {
  /**
   * Decides whether a fire runs on this instance; called by node-cron before each fire. Never waits for a lock.
   *
   * @param key the task's name and when it is due: `name:2026-11-20T20:44:53.000Z`
   * @param ttlMs the task's `distributedLease` in milliseconds, after which the lock expires
   * @returns `true` if the lock was acquired; `false` if it was refused, or after `shutdown()`
   * @throws LockError `INVALID_CONFIGURATION` for a wrong key or lease; otherwise as the provider does
   */
  shouldRun(key: string, ttlMs: number): Promise<boolean>
  /** Releases the lock of a fire; called by node-cron when its run has ended. */
  onComplete(key: string): Promise<void>
  /**
   * Skips further fires, and waits until the runs have ended and their locks are released. Call it at the end of the process, before
   * the database is disconnected: `cron.shutdown()` alone does not wait for the locks. node-cron gives its runs no signal, so none
   * aborts.
   *
   * @param options how long to wait at most. Default 10 seconds
   * @returns the names of the tasks still running at the timeout; their locks stay held until they end or `distributedLease` is over
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  shutdown(options?: Pick<ShutdownOptions, 'timeout'>): Promise<readonly string[]>
} {
  parseOptions(options, { listeners: parseListeners }, 'shedLockCoordinator options')
  const executor = new LockingTaskExecutor(withoutOutcome(parseProvider(provider)), options)
  /** For each key that is running, a function that ends its run and resolves when the lock is released. */
  const runs = new Map<string, () => Promise<unknown>>()
  return {
    shouldRun: (key, ttlMs) =>
      new Promise((resolve, reject) => {
        // node-cron runs its task itself. Ours only holds the lock until onComplete() is called, or until the lock is lost, because
        // node-cron never calls onComplete() for a run that it has abandoned.
        const run = executor.executeWithLock({ ...fireOf(key), lockAtMostFor: ttlMs }, async ({ signal }) => {
          if (signal.aborted) return
          resolve(true)
          const ended = new Promise<void>((end, fail) => {
            runs.set(key, () => {
              end()
              return run
            })
            signal.addEventListener('abort', () => {
              const reason: unknown = signal.reason
              if (reason instanceof LockError && reason.code === 'LOCK_LOST') fail(reason)
            })
          })
          await ended.finally(() => runs.delete(key))
        })
        run.then(() => {
          resolve(false)
        }, reject)
      }),
    onComplete: async (key) => {
      await runs.get(key)?.()
    },
    shutdown: (options) => executor.shutdown(options),
  }
}

/** Releases locks without an outcome, because node-cron does not report one. */
function withoutOutcome(provider: Pick<LockProvider, 'acquire' | 'drain' | 'forCaller'>): LockProvider {
  const wrapper: typeof provider = {
    acquire: async (configuration) => {
      const acquired = await provider.acquire(configuration)
      if ('reason' in acquired) return acquired
      return {
        lease: acquired.lease,
        extend: (...durations) => acquired.extend(...durations),
        unlock: (outcome) => acquired.unlock(outcome === 'unused' ? outcome : undefined),
      }
    },
    forCaller: () => withoutOutcome(provider.forCaller?.() ?? provider),
    drain: async (timeout) => provider.drain?.(timeout),
  }
  return wrapper as LockProvider
}

const DUE_LENGTH = '2026-11-20T20:44:53.000Z'.length

/** Parses node-cron's key, `name:due`. The name may contain colons, so the due time is cut off by its length. */
function fireOf(key: string): { name: string; slot: number } {
  const name = key.slice(0, -DUE_LENGTH - 1)
  const slot = Date.parse(key.slice(-DUE_LENGTH))
  if (name !== '' && Number.isFinite(slot)) return { name, slot }
  throw configurationError(
    Number.isFinite(slot)
      ? `The key '${key}' has no name – set the name of the task.`
      : `'${key}' is not a key of node-cron, such as 'name:2026-11-20T20:44:53.000Z' – use node-cron 4.4 or later.`,
  )
}
