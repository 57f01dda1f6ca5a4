import { Module, type DynamicModule, type Provider } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { LockingTaskExecutor } from '../core'
import { LeaderElections } from './leader-elections'
import { LockingTaskExecutors } from './locking-task-executors'
import { ShedLockLifecycle } from './shed-lock-lifecycle'
import {
  executorsFor,
  type ShedLockModuleAsyncOptions,
  type ShedLockModuleOptions,
} from './shed-lock-module-options'

/**
 * The token of the module's options, for tests of a whole application:
 * `Test.createTestingModule({ imports: [AppModule] }).overrideProvider(SHED_LOCK_OPTIONS).useValue({ lockProvider: alwaysFree() })`.
 */
export const SHED_LOCK_OPTIONS = Symbol.for('shedlock-orm.module-options')

/**
 * Gives `@SchedulerLock` its locks. Import it once, in the root module; it is global. Services can inject
 * `LockingTaskExecutor`, `LockingTaskExecutors` and `LeaderElections`.
 *
 * At start-up it refuses locked methods whose configuration can never work. At shutdown it tells runs in flight to stop
 * (`LockError` `SHUTDOWN`), waits for them up to `shutdownTimeout`, and frees their locks, before TypeORM closes its pool.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what Nest takes for a module
export class ShedLockModule {
  /** @throws LockError `INVALID_CONFIGURATION` */
  static forRoot(options: ShedLockModuleOptions): DynamicModule {
    executorsFor(options)
    return shedLockModule({ provide: SHED_LOCK_OPTIONS, useValue: options })
  }

  /** For lock providers made from what Nest provides: TypeORM's `DataSource`, a `PrismaService`, a configuration. */
  static forRootAsync<Dependencies extends unknown[]>(
    options: ShedLockModuleAsyncOptions<Dependencies>,
  ): DynamicModule {
    const { imports = [], inject = [], useFactory } = options
    return shedLockModule({ provide: SHED_LOCK_OPTIONS, inject, useFactory: useFactory as never }, imports)
  }
}

Module({})(ShedLockModule)

function shedLockModule(
  options: Provider,
  imports: NonNullable<DynamicModule['imports']> = [],
): DynamicModule {
  return {
    module: ShedLockModule,
    global: true,
    imports,
    providers: [
      options,
      // A factory, because a module that was imported once may be part of two applications.
      { provide: LockingTaskExecutors, useFactory: () => new LockingTaskExecutors() },
      {
        provide: ShedLockLifecycle,
        // Optional, because a loader such as tsx may load @nestjs/core twice, as CommonJS for us: then its classes are not
        // those of the application. What Nest constructs with legacy decorators gets its executors all the same.
        inject: [SHED_LOCK_OPTIONS, LockingTaskExecutors, { token: ModulesContainer, optional: true }],
        useFactory: (
          moduleOptions: ShedLockModuleOptions,
          executors: LockingTaskExecutors,
          modules: ModulesContainer | undefined,
        ) => {
          executors.set(executorsFor(moduleOptions), moduleOptions.cronTime)
          return new ShedLockLifecycle(executors, modules, moduleOptions.shutdownTimeout)
        },
      },
      {
        provide: LeaderElections,
        inject: [SHED_LOCK_OPTIONS],
        useFactory: (moduleOptions: ShedLockModuleOptions) => new LeaderElections(moduleOptions),
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
