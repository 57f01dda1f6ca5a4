import { Inject, Optional } from '@nestjs/common'
import {
  areLocksAssumed,
  InMemoryLockProvider,
  configurationError,
  LockingTaskExecutor,
  time,
  type Job,
} from '../core/internal'
import { CronSlots, type CronTimeClass } from './cron-slot'

/**
 * The executors of one Nest application: one for `lockProvider`, and one for each of `lockProviders`. Inject this class if a service
 * chooses between them, or `LockingTaskExecutor` if it only uses the one for `lockProvider`.
 */
export class LockingTaskExecutors {
  #byProvider: ReadonlyMap<string | undefined, LockingTaskExecutor> = new Map()
  /** @internal The slots of methods with `@Cron`, if the module has `cronTime`. */
  slots: CronSlots | undefined

  /**
   * Returns the executor for one of the module's lock providers.
   *
   * @param provider a key of the module's `lockProviders`. Default: its `lockProvider`
   * @throws LockError `INVALID_CONFIGURATION` if there is no such provider, or before the application is initialised
   */
  get(provider?: string): LockingTaskExecutor {
    const executor = this.#byProvider.get(provider)
    if (executor) return executor
    throw configurationError(
      this.#byProvider.size === 0
        ? 'ShedLockModule is not ready yet – use its executors only after the application is initialised.'
        : `There is no lock provider '${provider}' – add it to lockProviders of ShedLockModule.forRoot.`,
    )
  }

  /**
   * @internal Sets the executors. Called after construction, so that a service that injects this class does not depend on what the
   * lock providers depend on.
   */
  set(executors: ReadonlyMap<string | undefined, LockingTaskExecutor>, CronTime?: CronTimeClass): void {
    this.#byProvider = executors
    this.slots = CronTime && new CronSlots(CronTime)
  }

  /**
   * What the application knows of its methods with `@SchedulerLock` and a fixed name, for `jobs` of `lockPage`, `table.overdue` and
   * `openTelemetryListener`: when they are due, if the module has `cronTime`, and how to run them. Empty before the application's
   * `onApplicationBootstrap`.
   */
  readonly jobs: Record<string, Job> = {}

  /** @internal Whether their application is shut down, so that another may use its objects. */
  areShutDown = false

  /** @internal */
  all(): LockingTaskExecutor[] {
    return [...this.#byProvider.values()]
  }

  /** @internal Returns the slot of a call of a method without the option `slot`. */
  slotOf(instance: object, method: PropertyKey): number | undefined {
    return this.slots?.slotOf(instance, method)
  }
}

/** Runs the locked methods of objects that a unit test created with `new`. Each call has a lock of its own, which is always free. */
class AssumedExecutors extends LockingTaskExecutors {
  override get(): LockingTaskExecutor {
    return new LockingTaskExecutor(new InMemoryLockProvider(), { defaultLockAtMostFor: '1h' })
  }

  override slotOf(): number {
    return time.wall()
  }
}

/** The property in which an instance with locked methods keeps its application's executors. */
const EXECUTORS = Symbol.for('shedlock-orm.executors')

interface Bound {
  [EXECUTORS]?: LockingTaskExecutors | undefined
}

/** Makes Nest inject the executors. The injection is optional, so that without the module `executorsOf` can throw a clearer error. */
export function injectExecutors(prototype: object): void {
  Object.defineProperty(prototype, EXECUTORS, { value: undefined, writable: true, configurable: true })
  Inject(LockingTaskExecutors)(prototype, EXECUTORS)
  Optional()(prototype, EXECUTORS)
}

/**
 * Gives an instance with locked methods the executors, unless Nest has injected them: it injects nothing into the results of factories
 * and into values.
 *
 * @throws LockError `INVALID_CONFIGURATION` if another application uses the instance, because that one's shutdown would end its jobs here
 */
export function bindExecutors(instance: object, executors: LockingTaskExecutors): void {
  if (!(EXECUTORS in instance)) return
  const bound = (instance as Bound)[EXECUTORS]
  if (bound && bound !== executors && !bound.areShutDown)
    throw configurationError(
      `The same object of ${instance.constructor.name} is in two Nest applications, whose locks differ – create one for each application, or close the first application before the second starts.`,
    )
  ;(instance as Bound)[EXECUTORS] = executors
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function executorsOf(instance: unknown, method: string): LockingTaskExecutors {
  const executors = (instance as Bound | undefined)?.[EXECUTORS]
  if (executors) return executors
  if (areLocksAssumed()) return new AssumedExecutors()
  // Its class, or its constructor, marks each object that has the method.
  if (!(EXECUTORS in Object(instance)))
    throw configurationError(
      `'${method}' was not run, because it was called without its object – pass a function that calls it, such as () => object.${method}().`,
    )
  throw configurationError(
    `'${method}' was not run, because its object has no executors – check whether the root module imports ShedLockModule.forRoot(…), whether Nest creates the object, and, if a factory creates it, whether the application has created all its providers before the call. In a unit test, call it inside assumeLocked(…) of shedlock-orm/testing.`,
  )
}
