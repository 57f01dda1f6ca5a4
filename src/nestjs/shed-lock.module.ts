import {
  Module,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type Provider,
} from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { aFunction, anArray, parseOptions, LockingTaskExecutor, optionError } from '../core/internal'
import { LockingTaskExecutors } from './locking-task-executors'
import { outermostModules } from './outermost-modules'
import { ShedLockLifecycle } from './shed-lock-lifecycle'
import { checkModuleOptions, type ShedLockModuleOptions } from './shed-lock-module-options'

/**
 * The injection token of the module's options, so that tests of a whole application can override all of them:
 * `Test.createTestingModule({ imports: [AppModule] }).overrideProvider(SHED_LOCK_OPTIONS).useValue({ lockProvider: alwaysFree(), cronTime: CronTime })`.
 */
export const SHED_LOCK_OPTIONS = Symbol.for('shedlock-orm.module-options')
// Optional, because a loader such as tsx may load @nestjs/core a second time for us, as CommonJS, and the application does not know
// the classes of that copy. Instances that Nest constructs from classes with legacy decorators still get their executors.
const MODULES = { token: ModulesContainer, optional: true }

const OUTERMOST_HOOKS: FactoryProvider = {
  provide: Symbol('ShedLock hooks'),
  inject: [ShedLockLifecycle],
  useFactory: (lifecycle: ShedLockLifecycle) => ({
    onModuleInit: () => {
      lifecycle.bind()
    },
    onModuleDestroy: () => lifecycle.beforeApplicationShutdown(),
  }),
}

/**
 * Provides the locks for `@SchedulerLock`. Import it once, in the root module; it is global. Services can inject
 * `LockingTaskExecutor` and `LockingTaskExecutors`.
 *
 * At start-up, it throws if the configuration of a locked method can never work; five seconds later it checks the tables, and logs where
 * the locks are kept, or what is wrong. At shutdown, it
 * waits for running tasks and the releases of their locks before Nest calls any other hook, in which a client may end; after
 * `shutdown.abortAfter` the tasks' signals abort with a `LockError` `SHUTDOWN`.
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- Nest's modules are classes
export class ShedLockModule {
  /**
   * Creates the module with these options.
   *
   * @throws LockError `INVALID_CONFIGURATION`
   */
  static forRoot(options: ShedLockModuleOptions): DynamicModule {
    checkModuleOptions(options)
    return shedLockModule({ provide: SHED_LOCK_OPTIONS, useValue: options })
  }

  /**
   * Creates the module with options from a factory, into which Nest injects what it needs: a configuration, one of several
   * DataSources, or another kind of client. If the factory returns wrong options, the application's start fails.
   *
   * @throws LockError `INVALID_CONFIGURATION` for wrong `imports`, `inject` or `useFactory`
   */
  static forRootAsync(options: {
    /** The modules that provide the dependencies in `inject`, unless they are global. */
    readonly imports?: ModuleMetadata['imports'] | undefined
    /** The tokens of the dependencies that are passed to the factory, such as `[DataSource]` or `[PrismaService]`. */
    readonly inject?: FactoryProvider['inject'] | undefined
    /** Returns the module's options. Called once, when the application starts. */
    readonly useFactory: (...dependencies: never[]) => ShedLockModuleOptions | Promise<ShedLockModuleOptions>
  }): DynamicModule {
    const parsers = { imports: anArray, inject: anArray, useFactory: aFunction }
    const { imports = [], inject = [], useFactory } = parseOptions(options, parsers, 'ShedLockModule options')
    if (!useFactory) throw optionError('useFactory', 'a function that returns the options')
    return shedLockModule({ provide: SHED_LOCK_OPTIONS, inject, useFactory }, imports)
  }
}

Module({})(ShedLockModule)

function shedLockModule(options: Provider, imports: DynamicModule['imports'] = []): DynamicModule {
  return {
    module: ShedLockModule,
    global: true,
    imports: [...imports, ...outermostModules(OUTERMOST_HOOKS)],
    providers: [
      options,
      // Factories rather than values, because two applications in one process may import the same dynamic module.
      { provide: LockingTaskExecutors, useFactory: () => new LockingTaskExecutors() },
      {
        provide: ShedLockLifecycle,
        inject: [SHED_LOCK_OPTIONS, LockingTaskExecutors, MODULES],
        useFactory: (...parameters: ConstructorParameters<typeof ShedLockLifecycle>) =>
          new ShedLockLifecycle(...parameters),
      },
      {
        provide: LockingTaskExecutor,
        inject: [LockingTaskExecutors, ShedLockLifecycle],
        useFactory: (executors: LockingTaskExecutors) => executors.get(),
      },
    ],
    // The outermost modules inject ShedLockLifecycle.
    exports: [LockingTaskExecutor, LockingTaskExecutors, ShedLockLifecycle],
  }
}
