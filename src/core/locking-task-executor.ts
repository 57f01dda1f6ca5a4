import { enclosingFrame, runInFrame, type Frame } from './active-lock'
import type { Duration } from './duration'
import { LockError } from './errors'
import { notify, type LockEvent, type LockingTaskExecutorListener } from './listener'
import type { LockConfiguration, LockProvider, SimpleLock } from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'
import { RunsInFlight, shutdownError, type RunInFlight } from './runs-in-flight'
import type { Task, TaskResult } from './task'
import {
  checkTaskConfiguration,
  checkWrapConfiguration,
  type CheckedTaskConfiguration,
  type TaskConfiguration,
  type WrapConfiguration,
} from './task-configuration'
import { warn } from './warn'
import { WatchedLock } from './watched-lock'
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

const SKIPPED = Object.freeze({ executed: false } as const)

/** Runs tasks under a lock: asks for it once, skips the task if somebody else holds it, and always unlocks. */
export class LockingTaskExecutor {
  readonly #provider: LockProvider
  readonly #defaults: Partial<LockConfiguration>
  readonly #listeners: readonly LockingTaskExecutorListener[]
  readonly #runs = new RunsInFlight()

  /** @throws LockError `INVALID_CONFIGURATION` for a provider that is none, unknown options and impossible durations */
  constructor(provider: LockProvider, options: LockingTaskExecutorOptions = {}) {
    checkProvider(provider)
    checkOptions(options, ['defaultLockAtMostFor', 'defaultLockAtLeastFor', 'listeners'], 'executor options')
    const { defaultLockAtMostFor, defaultLockAtLeastFor = 0, listeners = [] } = options
    if (defaultLockAtMostFor !== undefined)
      checkDuration(undefined, 'defaultLockAtMostFor', defaultLockAtMostFor)
    checkDuration(undefined, 'defaultLockAtLeastFor', defaultLockAtLeastFor)
    this.#provider = provider
    this.#defaults = {
      lockAtLeastFor: defaultLockAtLeastFor,
      ...(defaultLockAtMostFor === undefined ? {} : { lockAtMostFor: defaultLockAtMostFor }),
    }
    this.#listeners = listeners
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
    const event = { name: checked.lock.name, configuration: checked.lock }
    const enclosing = enclosingFrame(this.#provider, event.name)
    const result = enclosing
      ? await this.#runInside(enclosing, event, task)
      : await this.#runs.track(event.name, (run) => this.#askAndRun(run, event, checked, task))
    if (!result.executed) await this.#notAcquired(event, checked)
    return result
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
    return this.#runs.stop(checkDuration(undefined, 'timeout', timeout))
  }

  async #askAndRun<T>(
    run: RunInFlight,
    event: LockEvent,
    { keepAlive }: CheckedTaskConfiguration,
    task: Task<T>,
  ): Promise<TaskResult<T>> {
    if (this.#runs.isStopped()) return SKIPPED
    const lock = await this.#ask(event)
    if (!lock) return SKIPPED
    if (this.#runs.isStopped()) return this.#giveBack(lock, event)
    run.lock = this.#watch(lock, event, keepAlive)
    try {
      return await this.#run(run.lock, event, task)
    } finally {
      await run.lock.end().catch((error: unknown) => {
        this.#unlockFailed(event, error)
      })
    }
  }

  /** Frees it at once: lockAtLeastFor is not to keep others from running what did not run here. */
  async #giveBack(lock: SimpleLock, event: LockEvent): Promise<typeof SKIPPED> {
    try {
      const short = await lock.extend(1, 0)
      await short?.unlock()
    } catch (error) {
      this.#unlockFailed(event, error)
    }
    return SKIPPED
  }

  async #ask(event: LockEvent): Promise<SimpleLock | undefined> {
    notify(this.#listeners, 'onLockAttempt', event)
    try {
      const lock = await this.#provider.lock(event.configuration)
      notify(this.#listeners, lock ? 'onLockAcquired' : 'onLockNotAcquired', event)
      return lock
    } catch (error) {
      notify(this.#listeners, 'onLockFailed', { ...event, error })
      throw error
    }
  }

  #watch(lock: SimpleLock, event: LockEvent, keepAlive: boolean): WatchedLock {
    return new WatchedLock(lock, {
      keepAliveFor: keepAlive ? event.configuration.lockAtMostFor : undefined,
      onExtended: () => {
        notify(this.#listeners, 'onLockExtended', event)
      },
      onExtendFailed: (error) => {
        notify(this.#listeners, 'onExtendFailed', { ...event, error })
      },
      onLost: (error) => {
        notify(this.#listeners, 'onLockLost', { ...event, error })
      },
    })
  }

  /** The same name again inside of its own task. A sibling that came second must not run beside the first. */
  async #runInside<T>(frame: Frame, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    if (frame.occupied) return SKIPPED
    frame.occupied = true
    try {
      return await this.#run(frame.lock, event, task)
    } finally {
      frame.occupied = false
    }
  }

  async #run<T>(lock: WatchedLock, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    const started = performance.now()
    const duration = (): number => performance.now() - started
    notify(this.#listeners, 'onTaskStarted', event)
    try {
      const value = await runInFrame(lock, this.#provider, () => task({ signal: lock.signal, lock }))
      notify(this.#listeners, 'onTaskFinished', { ...event, duration: duration(), outcome: 'success' })
      return { executed: true, value }
    } catch (error) {
      notify(this.#listeners, 'onTaskFinished', { ...event, duration: duration(), outcome: 'error', error })
      throw error
    }
  }

  async #notAcquired(event: LockEvent, { onNotAcquired }: CheckedTaskConfiguration): Promise<void> {
    if (typeof onNotAcquired === 'function') await onNotAcquired(event)
    if (onNotAcquired !== 'throw') return
    if (this.#runs.isStopped()) throw shutdownError(event.name)
    throw new LockError(
      'NOT_ACQUIRED',
      `Lock '${event.name}' is held by somebody else – the task was skipped.`,
      {
        lockName: event.name,
      },
    )
  }

  /** The task's outcome stands and the lease frees the lock; but somebody should hear of it. */
  #unlockFailed(event: LockEvent, error: unknown): void {
    notify(this.#listeners, 'onUnlockFailed', { ...event, error })
    if (!this.#listeners.some((listener) => 'onUnlockFailed' in listener)) warn(error)
  }
}
