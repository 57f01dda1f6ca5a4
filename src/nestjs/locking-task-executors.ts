import { LockError, type LockingTaskExecutor } from '../core'
import { cronSlot, type CronTimeClass } from './cron-slot'

/**
 * The executors of one Nest application: one for `lockProvider`, and one for each of `lockProviders`. Inject it where a
 * service wants to choose; inject `LockingTaskExecutor` where the default one will do.
 */
export class LockingTaskExecutors {
  #byProvider: ReadonlyMap<string | undefined, LockingTaskExecutor> = new Map()
  #CronTime: CronTimeClass | undefined

  /**
   * @param provider a key of the module's `lockProviders`; left out, the executor for its `lockProvider`
   * @throws LockError `INVALID_CONFIGURATION` when there is no such provider
   */
  get(provider?: string): LockingTaskExecutor {
    const executor = this.#byProvider.get(provider)
    if (executor) return executor
    throw new LockError(
      'INVALID_CONFIGURATION',
      provider === undefined
        ? 'ShedLockModule is not ready yet – use its executors once the application is initialised.'
        : `There is no lock provider '${provider}' – add it to lockProviders of ShedLockModule.forRoot.`,
    )
  }

  /** @internal Apart from the constructor, so that jobs do not depend on what the lock providers depend on. */
  set(executors: ReadonlyMap<string | undefined, LockingTaskExecutor>, CronTime?: CronTimeClass): void {
    this.#byProvider = executors
    this.#CronTime = CronTime
  }

  /** @internal When a run of this method that begins now was due; `undefined` without `cronTime` or without `@Cron`. */
  slotOf(method: object): number | undefined {
    return this.#CronTime && cronSlot(method, this.#CronTime)
  }

  /** @internal */
  all(): LockingTaskExecutor[] {
    return [...this.#byProvider.values()]
  }
}
