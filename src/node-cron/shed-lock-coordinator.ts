import {
  checkDuration,
  checkListeners,
  checkLockConfiguration,
  checkOptions,
  heldLockOf,
  RunsInFlight,
  type LockingTaskExecutorListener,
  type LockOptions,
  type LockProvider,
  type ShutdownOptions,
  type SimpleLock,
} from '../core'
import { CoordinatedRun } from './coordinated-run'
import { fireOf, type Fire } from './fire'

/** Options of `shedLockCoordinator`. */
export interface ShedLockCoordinatorOptions {
  /**
   * Hear of each fire under its task's name, as those of an executor do: metrics, logs. node-cron does not tell whether a run
   * failed, so that `onTaskFinished` always says `success`. Default: nobody.
   */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/**
 * Lets each fire of a node-cron task with `distributed: true` run on one instance, however short the run or late the
 * others: `setRunCoordinator(shedLockCoordinator(provider))`, before `schedule`.
 *
 * One lock does it, in one statement: it has the task's name, and the time at which the fire is due is its slot. It lasts for
 * at most the task's `distributedLease` and is freed when the run ends: while a run lasts, here or in whatever else locks
 * that name, further fires are skipped. Nothing extends it, so choose `distributedLease` well above the longest run.
 *
 * When the database cannot say whether the lock is free, node-cron skips the fire as `coordinator-error`.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockCoordinator(
  provider: LockProvider,
  options: ShedLockCoordinatorOptions = {},
): ShedLockCoordinator {
  checkOptions(options, ['listeners'], 'shedLockCoordinator options')
  return new ShedLockCoordinator(provider, checkListeners(options.listeners))
}

/** Fits node-cron's `RunCoordinator`. */
export class ShedLockCoordinator {
  readonly #provider: LockProvider
  readonly #inFlight = new RunsInFlight()
  readonly #listeners: readonly LockingTaskExecutorListener[]
  readonly #runs = new Map<string, CoordinatedRun>()

  /** @internal */
  constructor(provider: LockProvider, listeners: readonly LockingTaskExecutorListener[] = []) {
    this.#provider = provider
    this.#listeners = listeners
  }

  /**
   * Asked by node-cron before each fire, and never waits.
   *
   * @param key `name:2026-11-20T20:44:53.000Z`, the task and when it is due
   * @param ttlMs the task's `distributedLease` in milliseconds: its lock lasts at most that long
   * @returns whether the fire is to run here; `false` also after `shutdown()`
   * @throws LockError as the provider, when the database could not say whether the lock is free
   */
  async shouldRun(key: string, ttlMs: number): Promise<boolean> {
    const fire = fireOf(key)
    if (this.#inFlight.isStopped()) return false
    const run = new CoordinatedRun(
      checkLockConfiguration({ name: fire.task, lockAtMostFor: ttlMs, slot: fire.due }),
      this.#listeners,
    )
    if (
      !(await this.#inFlight.track(fire.task, () => run.begin((options) => this.#lock(fire, ttlMs, options))))
    )
      return false
    this.#runs.set(key, run)
    void this.#inFlight.track(fire.task, () => run.ended)
    return true
  }

  /** Told by node-cron when the run of a fire has ended: releases the task's lock. */
  async onComplete(key: string): Promise<void> {
    const run = this.#runs.get(key)
    this.#runs.delete(key)
    await run?.end()
  }

  /**
   * For the end of the process: skips further fires, and waits until the runs have ended and their locks are released.
   * Call it before the database is disconnected: `cron.shutdown()` alone does not wait for the locks.
   *
   * @returns the names of the tasks that still ran after the timeout; those stay locked for their `distributedLease`
   */
  async shutdown({ timeout = '10s' }: ShutdownOptions = {}): Promise<readonly string[]> {
    return this.#inFlight.stop(checkDuration(undefined, 'timeout', timeout))
  }

  async #lock({ task, due }: Fire, ttlMs: number, options: LockOptions): Promise<SimpleLock | undefined> {
    const lock = await this.#provider.lock({ name: task, lockAtMostFor: ttlMs, slot: due }, options)
    if (!lock || !this.#inFlight.isStopped()) return lock
    // It no longer runs here, but it may on another instance.
    await heldLockOf(lock).end({ early: true })
    return undefined
  }
}
