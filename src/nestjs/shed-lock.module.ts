import { Module, type DynamicModule, type Provider } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { LockingTaskExecutor } from '../core/internal'
import { LeaderElections } from './leader-elections'
import { LockingTaskExecutors } from './locking-task-executors'
import { ShedLockLifecycle } from './shed-lock-lifecycle'
import {
  checkAsyncOptions,
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
 * Provides the locks for `@SchedulerLock`. Import it once, in the root module; it is global. Services can inject
 * `LockingTaskExecutor`, `LockingTaskExecutors` and `LeaderElections`.
 *
 * At start-up it logs where the locks are kept, and refuses locked methods whose configuration can never work. At shutdown it tells
 * running tasks to stop (`LockError` `SHUTDOWN`), waits for them for up to `shutdownTimeout`, and releases their locks, before TypeORM
 * closes its pool.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- Nest's modules are classes
export class ShedLockModule {
  /**
   * Makes the module with these options.
   *
   * @throws LockError `INVALID_CONFIGURATION`
   */
  static forRoot(options: ShedLockModuleOptions): DynamicModule {
    checkModuleOptions(options)
    return shedLockModule({ provide: SHED_LOCK_OPTIONS, useValue: options })
  }

  /**
   * Makes the module with options that are made from what Nest provides: from a configuration, one of several DataSources, or a client
   * of another kind. Wrong options fail when the application starts.
   *
   * @throws LockError `INVALID_CONFIGURATION` for what is passed here
   */
  static forRootAsync<Dependencies extends unknown[]>(
    options: ShedLockModuleAsyncOptions<Dependencies>,
  ): DynamicModule {
    checkAsyncOptions(options as unknown as ShedLockModuleAsyncOptions<never[]>)
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
        useFactory: (lifecycle: ShedLockLifecycle) => new LeaderElections(lifecycle),
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
