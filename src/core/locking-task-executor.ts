import type { Duration } from './duration'
import { Execution, type ExecutorParts } from './execution'
import type { LockingTaskExecutorListener } from './listener'
import type { LockConfiguration, LockProvider } from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'
import { RunsInFlight } from './runs-in-flight'
import type { Task, TaskResult } from './task'
import {
  checkTask,
  checkTaskConfiguration,
  checkWrapConfiguration,
  type TaskConfiguration,
  type WrapConfiguration,
} from './task-configuration'
import { wrappedTask } from './wrapped-task'

/** Options of a `LockingTaskExecutor`: defaults for all its tasks, and who hears of them. */
export interface LockingTaskExecutorOptions {
  /** For configurations that do not say. There is no default: choose one well above your longest task. */
  readonly defaultLockAtMostFor?: Duration | undefined
  /** For configurations that do not say. Default 0. */
  readonly defaultLockAtLeastFor?: Duration | undefined
  /** Hear what the executor does, in this order: metrics, logs. Default: nobody. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/** Options of `shutdown()`. */
export interface ShutdownOptions {
  /** How long to wait for the tasks that run. Default 10 seconds. */
  readonly timeout?: Duration | undefined
}

/** Runs tasks under a lock: asks for it once, skips the task if somebody else holds it, and always unlocks. */
export class LockingTaskExecutor {
  readonly #parts: ExecutorParts
  readonly #defaults: Partial<LockConfiguration>

  /** @throws LockError `INVALID_CONFIGURATION` for a provider that is none, unknown options and impossible durations */
  constructor(provider: LockProvider, options: LockingTaskExecutorOptions = {}) {
    checkProvider(provider)
    checkOptions(options, ['defaultLockAtMostFor', 'defaultLockAtLeastFor', 'listeners'], 'executor options')
    const { defaultLockAtMostFor, defaultLockAtLeastFor = 0, listeners = [] } = options
    if (defaultLockAtMostFor !== undefined)
      checkDuration(undefined, 'defaultLockAtMostFor', defaultLockAtMostFor)
    checkDuration(undefined, 'defaultLockAtLeastFor', defaultLockAtLeastFor)
    this.#parts = { provider, listeners, runs: new RunsInFlight() }
    this.#defaults = {
      lockAtLeastFor: defaultLockAtLeastFor,
      ...(defaultLockAtMostFor === undefined ? {} : { lockAtMostFor: defaultLockAtMostFor }),
    }
  }

  /**
   * Runs the task if the lock can be had, else skips it without waiting. Inside a task that holds this very lock
   * (same name, same provider) it runs at once, one at a time.
   *
   * @returns `{ executed: true, value }` with what the task returned, or `{ executed: false }`
   * @throws LockError when the configuration is wrong, or when the database could not say whether the lock is free:
   *   then the task was not run. What the task itself throws comes through as it is, even if the unlock fails.
   */
  async executeWithLock<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>> {
    const checked = checkTaskConfiguration(configuration, this.#defaults)
    checkTask(task)
    return new Execution(this.#parts, checked, task).result()
  }

  /**
   * The task as a function that runs under the lock each time it is called: for schedulers that want a callback.
   * `this` and arguments are passed through. It always returns a promise and never throws synchronously; with
   * `onError` the promise never rejects, and resolves to nothing, as croner's and cron's types want it.
   *
   * @throws LockError `INVALID_CONFIGURATION` at once, so that a typing mistake fails at start-up and not at 3 a.m.
   */
  wrap<This, Arguments extends unknown[], T>(
    configuration: WrapConfiguration<This, Arguments> & { readonly onError?: undefined },
    task: (this: This, ...args: Arguments) => T | PromiseLike<T>,
  ): (this: This, ...args: Arguments) => Promise<TaskResult<T>>
  wrap<This, Arguments extends unknown[], T>(
    configuration: WrapConfiguration<This, Arguments> & { readonly onError: (error: unknown) => unknown },
    task: (this: This, ...args: Arguments) => T | PromiseLike<T>,
  ): (this: This, ...args: Arguments) => Promise<void>
  wrap<This, Arguments extends unknown[], T>(
    configuration: WrapConfiguration<This, Arguments>,
    task: (this: This, ...args: Arguments) => T | PromiseLike<T>,
  ): (this: This, ...args: Arguments) => Promise<unknown> {
    checkWrapConfiguration(configuration, this.#defaults)
    checkTask(task)
    return wrappedTask(this, configuration, task)
  }

  /**
   * For the end of the process: aborts the signals of the tasks that run, with a `LockError` `SHUTDOWN`, and waits until
   * they have ended and their locks are freed. From now on tasks are skipped, for other instances to run. Call it
   * before the database is disconnected.
   *
   * @returns the names of the locks whose tasks still ran after the timeout; those stay locked
   */
  async shutdown({ timeout = '10s' }: ShutdownOptions = {}): Promise<readonly string[]> {
    return this.#parts.runs.stop(checkDuration(undefined, 'timeout', timeout))
  }
}
