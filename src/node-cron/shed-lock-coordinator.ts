import {
  checkDuration,
  checkOptions,
  LockError,
  RunsInFlight,
  type Duration,
  type LockProvider,
  type ShutdownOptions,
  type SimpleLock,
} from '../core'
import { fireLockName, fireOf, type Fire } from './fire'

/** Options of `shedLockCoordinator`. */
export interface ShedLockCoordinatorOptions {
  /**
   * For how long a fire stays taken, so that an instance that gets to it late does not run it again: longer than
   * node-cron's `missedExecutionTolerance` (1 second) and the difference of the instances' clocks. Default 30 seconds.
   */
  readonly lockAtLeastFor?: Duration | undefined
}

/**
 * Lets each fire of a node-cron task with `distributed: true` run on one instance, however short the run or late the
 * others: `setRunCoordinator(shedLockCoordinator(provider))`, before `schedule`.
 *
 * It takes two locks. One stands for the fire, such as `report#0`, and is left to end by itself. The names go round: a
 * task that is due once a minute has one of them, one that is due every second has 60. The other has the task's name,
 * lasts for at most the task's `distributedLease` and is freed when the run ends: while a run lasts, here or in
 * whatever else locks that name, further fires are skipped. Nothing extends it, so choose `distributedLease` well above
 * the longest run.
 *
 * When the database cannot say whether the locks are free, node-cron skips the fire as `coordinator-error`.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function shedLockCoordinator(
  provider: LockProvider,
  options: ShedLockCoordinatorOptions = {},
): ShedLockCoordinator {
  checkOptions(options, ['lockAtLeastFor'], 'shedLockCoordinator options')
  const rememberFor = checkDuration(undefined, 'lockAtLeastFor', options.lockAtLeastFor ?? '30s')
  if (rememberFor < 1_000) {
    throw new LockError(
      'INVALID_CONFIGURATION',
      `lockAtLeastFor of shedLockCoordinator is ${rememberFor} ms – give at least a second, which node-cron may be late.`,
    )
  }
  return new ShedLockCoordinator(provider, rememberFor)
}

interface Run {
  readonly lock: SimpleLock
  freed(): void
}

/** Fits node-cron's `RunCoordinator`. */
export class ShedLockCoordinator {
  readonly #provider: LockProvider
  readonly #rememberFor: number
  readonly #inFlight = new RunsInFlight()
  readonly #runs = new Map<string, Run>()

  /** @internal */
  constructor(provider: LockProvider, rememberFor: number) {
    this.#provider = provider
    this.#rememberFor = rememberFor
  }

  /**
   * Asked by node-cron before each fire, and never waits.
   *
   * @param key `name:2026-11-20T20:44:53.000Z`, the task and when it is due
   * @param ttlMs the task's `distributedLease` in milliseconds: its lock lasts at most that long
   * @returns whether the fire is to run here; `false` also after `shutdown()`
   * @throws LockError as the provider, when the database could not say whether the locks are free
   */
  async shouldRun(key: string, ttlMs: number): Promise<boolean> {
    const fire = fireOf(key)
    if (this.#inFlight.isStopped()) return false
    const lock = await this.#inFlight.track(fire.task, () => this.#lock(fire, ttlMs))
    if (!lock) return false
    void this.#inFlight.track(fire.task, () => {
      return new Promise<void>((freed) => this.#runs.set(key, { lock, freed }))
    })
    return true
  }

  /** Told by node-cron when the run of a fire has ended: frees the task's lock. */
  async onComplete(key: string): Promise<void> {
    const run = this.#runs.get(key)
    this.#runs.delete(key)
    try {
      await run?.lock.unlock()
    } finally {
      run?.freed()
    }
  }

  /**
   * For the end of the process: skips further fires, and waits until the runs have ended and their locks are freed.
   * Call it before the database is disconnected: `cron.shutdown()` alone does not wait for the locks.
   *
   * @returns the names of the tasks that still ran after the timeout; those stay locked for their `distributedLease`
   */
  async shutdown({ timeout = '10s' }: ShutdownOptions = {}): Promise<readonly string[]> {
    return this.#inFlight.stop(checkDuration(undefined, 'timeout', timeout))
  }

  async #lock(fire: Fire, ttlMs: number): Promise<SimpleLock | undefined> {
    const name = fireLockName(fire, this.#rememberFor)
    const fireLock = await this.#provider.lock({ name, lockAtMostFor: this.#rememberFor })
    if (!fireLock) return undefined
    try {
      const taskLock = await this.#provider.lock({ name: fire.task, lockAtMostFor: ttlMs })
      if (!this.#inFlight.isStopped()) return taskLock
      await taskLock?.unlock()
    } catch (error) {
      await fireLock.unlock().catch(() => undefined)
      throw error
    }
    // It does not run here any more, but it may on another instance.
    await fireLock.unlock()
    return undefined
  }
}
