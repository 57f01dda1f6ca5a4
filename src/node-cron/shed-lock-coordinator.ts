import {
  checkListeners,
  checkOptions,
  checkProvider,
  type DrainOptions,
  invalid,
  LockError,
  LockingTaskExecutor,
  type LockingTaskExecutorListener,
  LockProvider,
  notByHand,
  type ShutdownOptions,
  type TaskContext,
} from '../core/internal'

/** Options of `shedLockCoordinator`. */
export interface ShedLockCoordinatorOptions {
  /**
   * Listeners to each run under its task's name, as of an executor, for metrics and logs. node-cron does not tell whether a run failed,
   * so `onTaskFinished` always says `succeeded`. Default: none.
   */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/**
 * Makes a coordinator that lets each fire of a node-cron task with `distributed: true` run on one instance, however short the run is or
 * however late the others are: `setRunCoordinator(shedLockCoordinator(provider))`, before `schedule`.
 *
 * Each fire acquires one lock: its name is that of the task, and its slot is the time at which the fire is due. The lock lasts for at
 * most the task's `distributedLease`, and is released when the run ends. While somebody holds the lock, further fires are skipped.
 * Nothing extends it, so choose `distributedLease` well above the longest run.
 *
 * When nobody knows whether the lock was acquired, node-cron skips the fire as `coordinator-error`. node-cron does not tell whether a
 * run succeeded, so the lock's row says `unlocked`.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockCoordinator(
  provider: LockProvider,
  options: ShedLockCoordinatorOptions = {},
): ShedLockCoordinator {
  checkOptions(options, { listeners: checkListeners }, 'shedLockCoordinator options')
  const withoutOutcome = new WithoutOutcome(checkProvider(provider))
  return new ShedLockCoordinator(new LockingTaskExecutor(withoutOutcome, options))
}

/** Its releases do not record how a run ended, because node-cron does not say. */
class WithoutOutcome extends LockProvider {
  constructor(private readonly provider: LockProvider) {
    super()
  }

  async acquire(...all: Parameters<LockProvider['acquire']>): ReturnType<LockProvider['acquire']> {
    const acquired = await this.provider.acquire(...all)
    if ('reason' in acquired) return acquired
    return {
      lease: acquired.lease,
      extend: (...durations) => acquired.extend(...durations),
      unlock: (outcome) => acquired.unlock(outcome === 'unused' ? outcome : undefined),
    }
  }

  override async drain(options?: DrainOptions): Promise<void> {
    await this.provider.drain?.(options)
  }
}

/** Fits node-cron's `RunCoordinator`. */
export class ShedLockCoordinator {
  readonly #executor: LockingTaskExecutor
  /** How to end the run of each key; it resolves when the lock is released. */
  readonly #runs = new Map<string, () => Promise<void>>()

  /** @internal */
  constructor(executor: LockingTaskExecutor) {
    this.#executor = executor
  }

  /**
   * node-cron calls it before each fire. It never waits for a lock.
   *
   * @param key `name:2026-11-20T20:44:53.000Z`, the task and when it is due
   * @param ttlMs the task's `distributedLease` in milliseconds: its lock lasts at most that long
   * @returns whether the fire runs here; `false` also after `shutdown()`
   * @throws LockError `INVALID_CONFIGURATION` for a wrong key or lease; or as the provider does
   */
  shouldRun(key: string, ttlMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // The task is node-cron's: ours lasts until that one ends, or until its lock is lost, because a run that node-cron has
      // abandoned never ends.
      const task = async ({ signal }: TaskContext): Promise<void> => {
        if (signal.aborted) return
        resolve(true)
        await new Promise<void>((end, fail) => {
          this.#runs.set(key, () => {
            end()
            return run
          })
          signal.addEventListener('abort', () => {
            const reason: unknown = signal.reason
            if (!(reason instanceof LockError) || reason.code !== 'LOCK_LOST') return
            this.#runs.delete(key)
            fail(reason)
          })
        })
      }
      const run = this.#execute(key, ttlMs, task)
      run.then(() => {
        resolve(false)
      }, reject)
    })
  }

  /** node-cron calls it when the run of a fire has ended: releases the task's lock. */
  async onComplete(key: string): Promise<void> {
    const end = this.#runs.get(key)
    this.#runs.delete(key)
    await end?.()
  }

  /**
   * Call it at the end of the process, before the database is disconnected: it skips further fires, and waits until the runs have
   * ended and their locks are released. `cron.shutdown()` alone does not wait for the locks.
   *
   * @returns the names of the tasks that still ran at the timeout; their locks stay held until they end, or for their `distributedLease`
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  shutdown(options?: ShutdownOptions): Promise<readonly string[]> {
    return this.#executor.shutdown(options)
  }

  async #execute(key: string, ttlMs: number, task: (context: TaskContext) => Promise<void>): Promise<void> {
    const { name, slot } = fireOf(key)
    await notByHand(() => this.#executor.executeWithLock({ name, lockAtMostFor: ttlMs, slot }, task))
  }
}

const DUE_LENGTH = '2026-11-20T20:44:53.000Z'.length

/** Reads node-cron's key, `name:due`. The name may have colons of its own; the due time is the same on every instance. */
function fireOf(key: string): { name: string; slot: number } {
  const name = key.slice(0, -DUE_LENGTH - 1)
  const slot = Date.parse(key.slice(-DUE_LENGTH))
  if (name !== '' && Number.isFinite(slot)) return { name, slot }
  throw invalid(
    `'${key}' is not a key of node-cron, such as 'name:2026-11-20T20:44:53.000Z' – use node-cron 4.4 or later, and set the name of the task.`,
  )
}
