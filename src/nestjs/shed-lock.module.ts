import { Module, type DynamicModule, type Provider } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { LockingTaskExecutor } from '../core'
import { LeaderElections } from './leader-elections'
import { LockingTaskExecutors } from './locking-task-executors'
import { ShedLockLifecycle } from './shed-lock-lifecycle'
import {
  checkModuleOptions,
  type ShedLockModuleAsyncOptions,
  type ShedLockModuleOptions,
} from './shed-lock-module-options'

/**
 * The token of the module's options, for tests of a whole application:
 * `Test.createTestingModule({ imports: [AppModule] }).overrideProvider(SHED_LOCK_OPTIONS).useValue({ lockProvider: alwaysFree() })`.
 */
export const SHED_LOCK_OPTIONS = Symbol.for('shedlock-orm.module-options')
// Optional, because a loader such as tsx may load @nestjs/core twice, as CommonJS for us: then its classes are not
// those of the application. What Nest constructs with legacy decorators gets its executors all the same.
const MODULES = { token: ModulesContainer, optional: true }

/**
 * Gives `@SchedulerLock` its locks. Import it once, in the root module; it is global. Services can inject
 * `LockingTaskExecutor`, `LockingTaskExecutors` and `LeaderElections`.
 *
 * At start-up it logs where the locks are, and refuses locked methods whose configuration can never work. At shutdown it
 * tells runs in flight to stop (`LockError` `SHUTDOWN`), waits for them up to `shutdownTimeout`, and releases their locks, before
 * TypeORM closes its pool.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what Nest takes for a module
export class ShedLockModule {
  /** @throws LockError `INVALID_CONFIGURATION` */
  static forRoot(options: ShedLockModuleOptions): DynamicModule {
    checkModuleOptions(options)
    return shedLockModule({ provide: SHED_LOCK_OPTIONS, useValue: options })
  }

  /** For options made from what Nest provides: a configuration, several DataSources, clients of another kind. */
  static forRootAsync<Dependencies extends unknown[]>(
    options: ShedLockModuleAsyncOptions<Dependencies>,
  ): DynamicModule {
    const { imports = [], inject = [], useFactory } = options
    const provider = { provide: SHED_LOCK_OPTIONS, inject, useFactory: useFactory as never }
    return shedLockModule(provider, imports)
  }
}

Module({})(ShedLockModule)

function shedLockModule(options: Provider, imports: DynamicModule['imports'] = []): DynamicModule {
  return {
    module: ShedLockModule,
    global: true,
    imports,
    providers: [
      options,
      // Factories, because a module that was imported once may be part of two applications.
      { provide: LockingTaskExecutors, useFactory: () => new LockingTaskExecutors() },
      {
        provide: ShedLockLifecycle,
        inject: [SHED_LOCK_OPTIONS, LockingTaskExecutors, MODULES],
        useFactory: (...parameters: ConstructorParameters<typeof ShedLockLifecycle>) =>
          new ShedLockLifecycle(...parameters),
      },
      {
        provide: LeaderElections,
        inject: [ShedLockLifecycle],
        useFactory: (lifecycle: ShedLockLifecycle) =>
          new LeaderElections(lifecycle.options, lifecycle.providers),
      },
      {
        provide: LockingTaskExecutor,
        inject: [LockingTaskExecutors, ShedLockLifecycle],
        useFactory: (executors: LockingTaskExecutors) => executors.get(),
      },
    ],
    exports: [LockingTaskExecutor, LockingTaskExecutors, LeaderElections],
  }
}
