import { types } from 'node:util'
import { Logger, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import { LockError, type Duration } from '../core'
import { bindExecutors, isMarked } from './executors-of-instance'
import { lockedMethodsOf } from './locked-method'
import type { LockingTaskExecutors } from './locking-task-executors'
import { configuredFor } from './scheduler-lock-options'

/** What happens at the application's start and end. */
export class ShedLockLifecycle implements OnModuleInit, BeforeApplicationShutdown {
  readonly #executors: LockingTaskExecutors
  readonly #modules: Pick<ModulesContainer, 'values'>
  readonly #shutdownTimeout: Duration | undefined

  constructor(
    executors: LockingTaskExecutors,
    modules: Pick<ModulesContainer, 'values'> = new Map(),
    shutdownTimeout?: Duration,
  ) {
    this.#executors = executors
    this.#modules = modules
    this.#shutdownTimeout = shutdownTimeout
  }

  /** All instances are there now, and no scheduler has started yet: that is its `onApplicationBootstrap`. */
  onModuleInit(): void {
    this.#refuseSecondModule()
    for (const instance of this.#instancesWithLocks()) {
      bindExecutors(instance, this.#executors)
      for (const [method, options] of lockedMethodsOf(instance)) {
        const { provider, slot, ...configuration } = configuredFor(instance, options)
        // Checks the configuration with the defaults of the module.
        this.#executors
          .get(provider)
          .wrap({ ...configuration, slot: slot === false ? undefined : slot }, () => method)
      }
    }
  }

  /** Each later hook would be too late: TypeORM closes its pool in `onApplicationShutdown`. */
  async beforeApplicationShutdown(): Promise<void> {
    const timeout = this.#shutdownTimeout
    const stopped = this.#executors.all().map((executor) => executor.shutdown({ timeout }))
    const late = (await Promise.all(stopped)).flat()
    if (late.length > 0) {
      new Logger('ShedLock').warn(
        `Did not end within the shutdown timeout, and stay locked until lockAtMostFor: ${late.join(', ')}`,
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

  *#instancesWithLocks(): Iterable<object> {
    for (const { providers, controllers } of this.#modules.values()) {
      for (const wrapper of [...providers.values(), ...controllers.values()]) {
        const instance: unknown = wrapper.instance
        // A proxy may stand for something that is not there yet, and throw when it is looked at.
        if (typeof instance !== 'object' || instance === null || types.isProxy(instance)) continue
        if (isMarked(instance)) yield instance
      }
    }
  }
}
