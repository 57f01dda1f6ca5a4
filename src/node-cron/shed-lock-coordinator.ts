import {
  checkOptions,
  checkProvider,
  invalid,
  LockError,
  LockingTaskExecutor,
  type LockingTaskExecutorListener,
  type LockProvider,
  type ShutdownOptions,
  type TaskContext,
} from '../core'

/** Options of `shedLockCoordinator`. */
export interface ShedLockCoordinatorOptions {
  /**
   * Hear of each run under its task's name, as those of an executor do: metrics, logs. node-cron does not tell whether a run
   * failed, so that `onTaskFinished` always says `success`. Default: nobody.
   */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/**
 * Lets each fire of a node-cron task with `distributed: true` run on one instance, however short the run or late the
 * others: `setRunCoordinator(shedLockCoordinator(provider))`, before `schedule`.
 *
 * One lock does it, in one statement: it has the task's name, and the time at which the fire is due is its slot. It lasts for
 * at most the task's `distributedLease` and is released when the run ends: while a run lasts, here or in whatever else locks
 * that name, further fires are skipped. Nothing extends it, so choose `distributedLease` well above the longest run.
 *
 * When the database cannot say whether the lock is free, node-cron skips the fire as `coordinator-error`. It does not tell
 * whether a run succeeded, so that the lock's row says `unlocked`.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockCoordinator(
  provider: LockProvider,
  options: ShedLockCoordinatorOptions = {},
): ShedLockCoordinator {
  checkOptions(options, ['listeners'], 'shedLockCoordinator options')
  checkProvider(provider)
  const lock: LockProvider['lock'] = async (...request) => {
    const acquired = await provider.lock(...request)
    if (!acquired) return undefined
    const unlock = acquired.unlock.bind(acquired)
    acquired.unlock = ({ outcome } = {}) => unlock(outcome === 'unused' ? { outcome } : {})
    return acquired
  }
  const drain: LockProvider['drain'] = async (...all) => provider.drain?.(...all)
  return new ShedLockCoordinator(new LockingTaskExecutor({ lock, drain }, options))
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
   * @returns whether the fire is to run here; `false` also after `shutdown()`
   * @throws LockError as the provider, when the database could not say whether the lock is free
   */
  shouldRun(key: string, ttlMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // The task is node-cron's: ours lasts until that one ends, or until its lock is lost, because a run that node-cron gave
      // up never ends.
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
   * For the end of the process: skips further fires, and waits until the runs have ended and their locks are released.
   * Call it before the database is disconnected: `cron.shutdown()` alone does not wait for the locks.
   *
   * @returns the names of the tasks that still ran after the timeout; those stay locked for their `distributedLease`
   */
  shutdown(options?: ShutdownOptions): Promise<readonly string[]> {
    return this.#executor.shutdown(options)
  }

  async #execute(key: string, ttlMs: number, task: (context: TaskContext) => Promise<void>): Promise<void> {
    const { name, slot } = fireOf(key)
    await this.#executor.executeWithLock({ name, lockAtMostFor: ttlMs, slot }, task)
  }
}

const DUE_LENGTH = '2026-11-20T20:44:53.000Z'.length

/** Reads node-cron's key, `name:due`. The name may have colons of its own; the due time is the same on every instance. */
function fireOf(key: string): { name: string; slot: number } {
  const name = key.slice(0, -DUE_LENGTH - 1)
  const slot = Date.parse(key.slice(-DUE_LENGTH))
  if (name !== '' && Number.isFinite(slot)) return { name, slot }
  throw invalid(
    `'${key}' is not node-cron's 'name:2026-11-20T20:44:53.000Z' – use node-cron 4.4 or later, and name the task.`,
  )
}
