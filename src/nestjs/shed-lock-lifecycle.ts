import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common'
import { LockError } from '../core'
import { plainInstancesOf, type Modules } from './application-instances'
import { catchUp, checkCatchUp, type CatchUp } from './catch-up'
import { bindExecutors, isMarked } from './executors-of-instance'
import { placesOf, type LockProviders } from './lock-providers'
import { lockedMethodsOf } from './locked-method'
import type { LockingTaskExecutors } from './locking-task-executors'
import { configuredFor } from './scheduler-lock-options'
import type { ShedLockModuleOptions } from './shed-lock-module-options'
import { unlockedCrons } from './unlocked-crons'

/** What happens at the application's start and end. */
export class ShedLockLifecycle implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #logger = new Logger('ShedLock')
  readonly #options: ShedLockModuleOptions
  readonly #providers: LockProviders
  readonly #executors: LockingTaskExecutors
  readonly #modules: Modules
  readonly #catchUps: CatchUp[] = []

  constructor(
    options: ShedLockModuleOptions,
    providers: LockProviders,
    executors: LockingTaskExecutors,
    modules: Modules,
  ) {
    this.#options = options
    this.#providers = providers
    this.#executors = executors
    this.#modules = modules
  }

  /** All instances are there now, and no scheduler has started yet: that is its `onApplicationBootstrap`. */
  onModuleInit(): void {
    this.#refuseSecondModule()
    this.#logger.log(`Locks are in ${placesOf(this.#providers, this.#options.allowInMemory)}`)
    for (const instance of plainInstancesOf(this.#modules)) if (isMarked(instance)) this.#bind(instance)
    this.#warnOfUnlockedCrons()
  }

  /** Not awaited, so that the application is up meanwhile. */
  onApplicationBootstrap(): void {
    for (const missed of this.#catchUps) void catchUp(missed, this.#logger)
  }

  /** Each later hook would be too late: TypeORM closes its pool in `onApplicationShutdown`. */
  async beforeApplicationShutdown(): Promise<void> {
    const timeout = this.#options.shutdownTimeout
    const stopped = this.#executors.all().map((executor) => executor.shutdown({ timeout }))
    const late = (await Promise.all(stopped)).flat()
    if (late.length > 0) {
      this.#logger.warn(
        `Did not end within the shutdown timeout, and stay locked until lockAtMostFor: ${late.join(', ')}`,
      )
    }
  }

  #bind(instance: object): void {
    bindExecutors(instance, this.#executors)
    for (const [method, options] of lockedMethodsOf(instance)) {
      const { provider, slot, catchUp: wanted, ...configuration } = configuredFor(instance, options)
      // Checks the configuration with the defaults of the module.
      this.#executors
        .get(provider)
        .wrap({ ...configuration, slot: slot === false ? undefined : slot }, () => method)
      if (!wanted) continue
      checkCatchUp({ instance, method }, options, this.#executors)
      this.#catchUps.push({ instance, method })
    }
  }

  #warnOfUnlockedCrons(): void {
    const { warnOfUnlockedCrons: wanted = false } = this.#options
    if (wanted === false) return
    const except = typeof wanted === 'object' ? wanted.except : []
    for (const method of unlockedCrons(this.#modules).filter((each) => !except.includes(each))) {
      this.#logger.warn(
        `${method} has @Cron without @SchedulerLock: every instance runs it – add one, or name it in warnOfUnlockedCrons.except`,
      )
    }
  }

  #refuseSecondModule(): void {
    const all = [...this.#modules.values()].filter(({ providers }) => providers.has(this.constructor))
    if (all.length > 1) {
      throw new LockError(
        'INVALID_CONFIGURATION',
        'ShedLockModule is imported with several configurations – import it once, and name further ones in lockProviders.',
      )
    }
  }
}
