import { Module, type DynamicModule, type Provider } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { LockError, LockingTaskExecutor } from '../core'
import type { Modules } from './application-instances'
import { LeaderElections } from './leader-elections'
import { lockProvidersFor, type LockProviders } from './lock-providers'
import { LockingTaskExecutors } from './locking-task-executors'
import { ShedLockLifecycle } from './shed-lock-lifecycle'
import {
  checkModuleOptions,
  executorsFor,
  type LocksStorageClass,
  type LocksStorageOption,
  type ShedLockModuleAsyncOptions,
  type ShedLockModuleOptions,
} from './shed-lock-module-options'
import { ShedLockStore, type LocksStorageLike } from './shed-lock-store'

/**
 * The token of the module's options, for tests of a whole application:
 * `Test.createTestingModule({ imports: [AppModule] }).overrideProvider(SHED_LOCK_OPTIONS).useValue({ lockProvider: alwaysFree() })`.
 */
export const SHED_LOCK_OPTIONS = Symbol.for('shedlock-orm.module-options')
const LOCK_PROVIDERS = Symbol.for('shedlock-orm.lock-providers')
// Optional, because a loader such as tsx may load @nestjs/core twice, as CommonJS for us: then its classes are not
// those of the application. What Nest constructs with legacy decorators gets its executors all the same.
const MODULES = { token: ModulesContainer, optional: true }

/**
 * Gives `@SchedulerLock` its locks. Import it once, in the root module; it is global. Services can inject
 * `LockingTaskExecutor`, `LockingTaskExecutors` and `LeaderElections`.
 *
 * At start-up it logs where the locks are, and refuses locked methods whose configuration can never work. At shutdown it
 * tells runs in flight to stop (`LockError` `SHUTDOWN`), waits for them up to `shutdownTimeout`, and frees their locks, before
 * TypeORM closes its pool.
 */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what Nest takes for a module
export class ShedLockModule {
  /** @throws LockError `INVALID_CONFIGURATION` */
  static forRoot(options: ShedLockModuleOptions & LocksStorageOption): DynamicModule {
    const { locksStorage, ...moduleOptions } = options
    checkModuleOptions(moduleOptions)
    return shedLockModule({ provide: SHED_LOCK_OPTIONS, useValue: moduleOptions }, locksStorage)
  }

  /** For options made from what Nest provides: a configuration, several DataSources, clients of another kind. */
  static forRootAsync<Dependencies extends unknown[]>(
    options: ShedLockModuleAsyncOptions<Dependencies>,
  ): DynamicModule {
    const { imports = [], inject = [], useFactory, locksStorage } = options
    const provider = { provide: SHED_LOCK_OPTIONS, inject, useFactory: useFactory as never }
    return shedLockModule(provider, locksStorage, imports)
  }
}

Module({})(ShedLockModule)

function shedLockModule(
  options: Provider,
  locksStorage: LocksStorageClass | undefined,
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
        provide: LOCK_PROVIDERS,
        inject: [SHED_LOCK_OPTIONS, MODULES],
        useFactory: (moduleOptions: ShedLockModuleOptions, modules: Modules = new Map()) => {
          checkModuleOptions(moduleOptions)
          return lockProvidersFor(moduleOptions, modules)
        },
      },
      {
        provide: ShedLockLifecycle,
        inject: [SHED_LOCK_OPTIONS, LOCK_PROVIDERS, LockingTaskExecutors, MODULES],
        useFactory: (
          moduleOptions: ShedLockModuleOptions,
          providers: LockProviders,
          executors: LockingTaskExecutors,
          modules: Modules = new Map(),
        ) => {
          executors.set(executorsFor(moduleOptions, providers), moduleOptions.cronTime)
          return new ShedLockLifecycle(moduleOptions, providers, executors, modules)
        },
      },
      {
        provide: LeaderElections,
        inject: [SHED_LOCK_OPTIONS, LOCK_PROVIDERS],
        useFactory: (moduleOptions: ShedLockModuleOptions, providers: LockProviders) =>
          new LeaderElections(moduleOptions, providers),
      },
      {
        provide: LockingTaskExecutor,
        inject: [LockingTaskExecutors, ShedLockLifecycle],
        useFactory: (executors: LockingTaskExecutors) => executors.get(),
      },
      ...(locksStorage ? [lockStore(locksStorage)] : []),
    ],
    exports: [LockingTaskExecutor, LockingTaskExecutors, LeaderElections],
  }
}

/** Made before any module is initialised: then the storage no longer takes a store. */
function lockStore(locksStorage: LocksStorageClass): Provider {
  return {
    provide: ShedLockStore,
    inject: [LOCK_PROVIDERS, { token: locksStorage, optional: true }],
    useFactory: (providers: LockProviders, storage: LocksStorageLike | undefined) => {
      if (storage) return new ShedLockStore(providers.get(undefined) as never, storage)
      throw new LockError(
        'INVALID_CONFIGURATION',
        'ShedLockModule finds no LocksStorage – import LocksModule.forRoot() of @nestjs/locks, or leave locksStorage out.',
      )
    },
  }
}
