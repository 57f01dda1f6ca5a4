import type { Duration } from './duration'
import { LockError } from './errors'
import type { HeldLock } from './held-lock'
import {
  checkListeners,
  notify,
  type EventOf,
  type LockEvent,
  type LockFailureEvent,
  type LockSkippedEvent,
  type LockingTaskExecutorListener,
} from './listener'
import { why, type Refusal } from './refusal'
import type { LockConfiguration, LockHolder, LockProvider, RefusalReason, SimpleLock } from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'
import { RunsInFlight, shutdownError, type RunInFlight } from './runs-in-flight'
import { enclosingScope, runInScope, type Scope } from './scope'
import { heldLockOf } from './simple-lock'
import {
  checkTask,
  checkTaskConfiguration,
  checkWrapConfiguration,
  type CheckedTaskConfiguration,
  type Task,
  type TaskConfiguration,
  type TaskContext,
  type TaskResult,
  type WrapConfiguration,
} from './task-configuration'
import { time } from './time'
import { warn } from './warn'
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

const EXECUTOR_OPTIONS = ['defaultLockAtMostFor', 'defaultLockAtLeastFor', 'listeners'] as const

function refusalOf({ reason, holder }: Refusal): Refusal {
  return holder ? { reason, holder } : { reason }
}

function skipped(refusal: Refusal): TaskResult<never> {
  return { executed: false, ...refusal }
}

/** The signal is made when the task looks at it. */
function contextOf(lock: HeldLock): TaskContext {
  return {
    lock,
    get signal() {
      return lock.signal
    },
  }
}

/** Runs tasks under a lock: asks for it once, skips the task if somebody else holds it, and always unlocks. */
export class LockingTaskExecutor {
  readonly #provider: LockProvider
  readonly #listeners: readonly LockingTaskExecutorListener[]
  readonly #defaults: Partial<LockConfiguration>
  readonly #runs = new RunsInFlight()

  /**
   * @throws LockError `INVALID_CONFIGURATION` for a provider that is none, unknown options, impossible durations and
   *   listeners that are no array of objects
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
    this.#defaults = {
      lockAtLeastFor: defaultLockAtLeastFor,
      ...(defaultLockAtMostFor === undefined ? {} : { lockAtMostFor: defaultLockAtMostFor }),
    }
  }

  /**
   * Runs the task if the lock can be acquired, else skips it without waiting. Inside a task that holds this very lock
   * (same name, same provider) it runs at once, one at a time.
   *
   * @returns `{ executed: true, value }` with what the task returned, or `{ executed: false, reason }`
   * @throws LockError when the configuration is wrong, or when the database could not say whether the lock is free:
   *   then the task did not run. What the task itself throws comes through as it is, even if the unlock fails.
   */
  async executeWithLock<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>> {
    const checked = checkTaskConfiguration(configuration, this.#defaults)
    checkTask(task)
    const { name } = checked.lockConfiguration
    const event: LockEvent = { name, configuration: checked.lockConfiguration }
    const scope = enclosingScope(this.#provider, name)
    const result = scope
      ? await this.#runNested(scope, event, task)
      : await this.#runs.track(name, (inFlight) => this.#askAndRun(inFlight, checked, event, task))
    if (!result.executed) await this.#skipped(checked, { ...event, ...refusalOf(result) })
    return result
  }

  async #askAndRun<T>(
    inFlight: RunInFlight,
    { keepAlive }: CheckedTaskConfiguration,
    event: LockEvent,
    task: Task<T>,
  ): Promise<TaskResult<T>> {
    if (this.#runs.isStopped()) return skipped({ reason: 'shutdown' })
    const lock = await this.#ask(event)
    if ('reason' in lock) return skipped(this.#runs.isStopped() ? { reason: 'shutdown' } : lock)
    const held = (inFlight.lock = heldLockOf(lock))
    let early = true
    try {
      if (this.#runs.isStopped()) return skipped({ reason: 'shutdown' })
      early = false
      this.#listenTo(held, event)
      if (keepAlive) held.keepAlive(event.configuration.lockAtMostFor)
      return await this.#run(held, event, task)
    } finally {
      await held.end({ early }).catch((error: unknown) => {
        this.#unlockFailed({ ...event, error })
      })
    }
  }

  async #ask(event: LockEvent): Promise<SimpleLock | Refusal> {
    let refusal: Refusal = { reason: 'held' }
    const onRefused = (reason: RefusalReason, holder?: LockHolder): void => {
      refusal = refusalOf({ reason, holder })
    }
    const signal = this.#runs.stopped
    this.#tell('onLockAttempt', event)
    try {
      const lock = await this.#provider.lock(event.configuration, { signal, onRefused })
      if (lock) this.#tell('onLockAcquired', event)
      else this.#tell('onLockNotAcquired', { ...event, ...refusal })
      return lock ?? refusal
    } catch (error) {
      // It waited, and was told to stop.
      if (signal.aborted && error === signal.reason) return refusal
      this.#tell('onLockFailed', { ...event, error })
      throw error
    }
  }

  #listenTo(held: HeldLock, event: LockEvent): void {
    held.observe({
      onExtended: () => {
        this.#tell('onLockExtended', event)
      },
      onExtendFailed: (error) => {
        this.#tell('onExtendFailed', { ...event, error })
      },
      onLost: (error) => {
        this.#tell('onLockLost', { ...event, error })
      },
    })
  }

  /** The same name again inside its own task. A sibling that came second must not run beside the first. */
  async #runNested<T>({ lock, inner }: Scope, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    return lock && inner === 0 ? this.#run(lock, event, task) : skipped({ reason: 'nested' })
  }

  async #run<T>(lock: HeldLock, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    const started = time.now()
    const duration = (): number => time.now() - started
    this.#tell('onTaskStarted', event)
    try {
      const value = await runInScope(lock, this.#provider, () => task(contextOf(lock)))
      this.#tell('onTaskFinished', { ...event, duration: duration(), outcome: 'success' })
      return { executed: true, value }
    } catch (error) {
      this.#tell('onTaskFinished', { ...event, duration: duration(), outcome: 'error', error })
      throw error
    }
  }

  async #skipped({ onNotAcquired }: CheckedTaskConfiguration, event: LockSkippedEvent): Promise<void> {
    if (typeof onNotAcquired === 'function') await onNotAcquired(event)
    if (onNotAcquired !== 'throw') return
    const { name } = event
    if (event.reason === 'shutdown') throw shutdownError(name)
    throw new LockError('NOT_ACQUIRED', `Lock '${name}' ${why(event)} – the task was skipped.`, {
      lockName: name,
    })
  }

  /** The task's outcome stands and the lock expires; but somebody should hear of it. */
  #unlockFailed(event: LockFailureEvent): void {
    this.#tell('onUnlockFailed', event)
    if (!this.#listeners.some((listener) => 'onUnlockFailed' in listener)) warn(event.error)
  }

  #tell<Method extends keyof LockingTaskExecutorListener>(method: Method, event: EventOf<Method>): void {
    notify(this.#listeners, method, event)
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
   * they have ended and their locks are released. From now on tasks are skipped, for other instances to run. Call it
   * before the database is disconnected.
   *
   * @returns the names of the locks whose tasks still ran after the timeout; those stay locked
   */
  async shutdown(options: ShutdownOptions = {}): Promise<readonly string[]> {
    checkOptions(options, ['timeout'], 'shutdown options')
    const { timeout = '10s' } = options
    return this.#runs.stop(checkDuration(undefined, 'timeout', timeout))
  }
}
