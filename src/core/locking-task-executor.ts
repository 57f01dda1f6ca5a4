import { skipError, warn } from './errors'
import { checkListeners, notify, type LockEvent, type LockingTaskExecutorListener } from './listener'
import type { Duration, Lock, LockProvider, Refusal, ShutdownOptions, UnlockOptions } from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'
import { enclosingScope, executeByHand, runInScope, type Scope } from './scope'
import {
  checkTask,
  checkTaskConfiguration,
  wrappedTask,
  type CheckedTaskConfiguration,
  type Task,
  type TaskConfiguration,
  type TaskContext,
  type TaskResult,
  type WrapConfiguration,
} from './task-configuration'
import { RunsInFlight, TaskLock, type RunInFlight } from './task-lock'
import { Lease, time } from './time'

/** Options of a `LockingTaskExecutor`: defaults for all its tasks, and the listeners to its events. */
export interface LockingTaskExecutorOptions {
  /** `lockAtMostFor` of the configurations that do not set it. No default: choose one well above your longest task. */
  readonly defaultLockAtMostFor?: Duration | undefined
  /** `lockAtLeastFor` of the configurations that do not set it. Default 0. */
  readonly defaultLockAtLeastFor?: Duration | undefined
  /** Listeners to what the executor does, for metrics and logs, called in this order. Default: none. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

export const EXECUTOR_OPTIONS = ['defaultLockAtMostFor', 'defaultLockAtLeastFor', 'listeners'] as const

/** Runs tasks under a lock: tries to acquire the lock once, skips the task if it is refused, and always releases it. */
export class LockingTaskExecutor {
  readonly #provider: LockProvider
  readonly #listeners: readonly LockingTaskExecutorListener[]
  readonly #defaults: Partial<TaskConfiguration>
  readonly #runs = new RunsInFlight()

  /**
   * @throws LockError `INVALID_CONFIGURATION` when `provider` is not a lock provider, for unknown options and impossible
   *   durations, and when `listeners` is not an array of objects
   */
  constructor(provider: LockProvider, options: LockingTaskExecutorOptions = {}) {
    checkProvider(provider)
    checkOptions(options, EXECUTOR_OPTIONS, 'executor options')
    const { defaultLockAtMostFor, defaultLockAtLeastFor = 0, listeners } = options
    if (defaultLockAtMostFor !== undefined)
      checkDuration(undefined, 'defaultLockAtMostFor', defaultLockAtMostFor)
    checkDuration(undefined, 'defaultLockAtLeastFor', defaultLockAtLeastFor)
    this.#provider = provider
    this.#listeners = checkListeners(listeners)
    this.#defaults = { lockAtMostFor: defaultLockAtMostFor, lockAtLeastFor: defaultLockAtLeastFor }
  }

  /**
   * Runs the task if the lock can be acquired, else skips it without waiting. Inside a task that holds the same lock (same name,
   * same provider) it runs at once, but only one at a time.
   *
   * @returns `{ executed: true, value }` with what the task returned, or `{ executed: false, reason }`
   * @throws LockError `INVALID_CONFIGURATION`; `NOT_ACQUIRED` or `SHUTDOWN` for a skip with `onNotAcquired: 'throw'`; another code
   *   when the provider could not tell whether the lock was acquired. In all these cases the task did not run. What the task
   *   itself throws comes through unchanged, even if the unlock fails
   */
  async executeWithLock<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>> {
    return executeByHand(configuration, (each) => this.#execute(each, task))
  }

  async #execute<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>> {
    const checked = checkTaskConfiguration(configuration, this.#defaults)
    const { name } = checked.lockConfiguration
    checkTask(task, name)
    const event: LockEvent = { name, configuration: checked.lockConfiguration }
    const scope = enclosingScope(this.#provider, name)
    const result = scope
      ? await this.#runNested(scope, event, task)
      : await this.#runs.track(name, (inFlight) => this.#runLocked(inFlight, checked, event, task))
    if (result.executed) return result
    const { executed, ...refusal } = result
    const { onNotAcquired } = checked
    const skipped = { ...event, ...refusal }
    if (typeof onNotAcquired === 'function') await onNotAcquired(skipped)
    if (onNotAcquired === 'throw') throw skipError(skipped)
    return result
  }

  async #runLocked<T>(
    inFlight: RunInFlight,
    { keepAlive }: CheckedTaskConfiguration,
    event: LockEvent,
    task: Task<T>,
  ): Promise<TaskResult<T>> {
    if (this.#runs.isStopped()) return { executed: false, reason: 'shutdown' }
    const lock = await this.#acquire(event)
    if ('reason' in lock) return { executed: false, ...lock }
    const taskLock = (inFlight.lock = new TaskLock(lock, event, this.#listeners))
    let outcome: UnlockOptions['outcome'] = this.#runs.isStopped() ? 'unused' : 'failed'
    try {
      if (outcome === 'unused') return { executed: false, reason: 'shutdown' }
      if (keepAlive) taskLock.keepAlive(keepAlive)
      const result = await this.#run(taskLock, event, task)
      outcome = 'succeeded'
      return result
    } finally {
      taskLock.end()
      await lock.unlock({ outcome }).catch((error: unknown) => {
        notify(this.#listeners, 'onUnlockFailed', { ...event, error })
        // Changes neither the task's outcome nor that the lock expires, but somebody should hear of it.
        if (!this.#listeners.some((listener) => 'onUnlockFailed' in listener)) warn(error)
      })
    }
  }

  async #acquire(event: LockEvent): Promise<Lock | Refusal> {
    const signal = this.#runs.stopped
    let refusal: Refusal = { reason: 'held' }
    notify(this.#listeners, 'onLockAttempt', event)
    try {
      const lock = await this.#provider.lock(event.configuration, {
        signal,
        onRefused: (reason, holder) => (refusal = holder ? { reason, holder } : { reason }),
      })
      if (lock) {
        notify(this.#listeners, 'onLockAcquired', event)
        return lock
      }
    } catch (error) {
      // A provider that waited was told to stop.
      if (!signal.aborted || error !== signal.reason) {
        notify(this.#listeners, 'onLockFailed', { ...event, error })
        throw error
      }
    }
    if (signal.aborted) refusal = { reason: 'shutdown' }
    notify(this.#listeners, 'onLockNotAcquired', { ...event, ...refusal })
    return refusal
  }

  /** The same name again inside its own task. A sibling that came second must not run beside the first. */
  async #runNested<T>({ lock, inner }: Scope, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    return lock && inner === 0 ? this.#run(lock, event, task) : { executed: false, reason: 'nested' }
  }

  async #run<T>(lock: TaskLock, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    const started = time.now()
    const duration = (): number => time.now() - started
    const context: TaskContext = {
      lock,
      // Made when the task reads it.
      get signal() {
        return lock.signal
      },
    }
    notify(this.#listeners, 'onTaskStarted', event)
    try {
      const value = await runInScope(lock, this.#provider, () => task(context))
      notify(this.#listeners, 'onTaskFinished', { ...event, duration: duration(), outcome: 'success' })
      return { executed: true, value }
    } catch (error) {
      notify(this.#listeners, 'onTaskFinished', { ...event, duration: duration(), outcome: 'error', error })
      throw error
    }
  }

  /**
   * Makes a function that runs the task under the lock each time it is called: for schedulers that want a callback. `this` and
   * the arguments are passed through. The function always returns a promise and never throws synchronously; with `onError` the
   * promise never rejects, and resolves to `undefined`, which suits the types of croner and cron.
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
    return wrappedTask((each, run) => this.executeWithLock(each, run), this.#defaults, configuration, task)
  }

  /**
   * Call it at the end of the process, before the database is disconnected. It aborts the signals of the running tasks with a
   * `LockError` `SHUTDOWN`, and waits until these tasks have ended and all locks are released, those in the background too. From
   * now on every task is skipped here, and left to other instances. Afterwards nothing is sent to the database, except for the
   * release of a task that ends after the timeout.
   *
   * @returns the names of the locks whose tasks still ran at the timeout; they stay held until their tasks end or they expire
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  async shutdown(options: ShutdownOptions = {}): Promise<readonly string[]> {
    checkOptions(options, ['timeout'], 'shutdown options')
    const lease = new Lease(checkDuration(undefined, 'timeout', options.timeout ?? '10s'))
    const late = await this.#runs.stop(lease.remaining())
    await this.#provider.drain?.({ timeout: lease.remaining() })
    return late
  }
}
