import { LockError, warn } from './errors'
import {
  checkListeners,
  notify,
  type EventOf,
  type LockEvent,
  type LockSkippedEvent,
  type LockingTaskExecutorListener,
} from './listener'
import {
  describeRefusal,
  type Duration,
  type Lock,
  type LockProvider,
  type Refusal,
  type ShutdownOptions,
  type UnlockOptions,
} from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'
import { enclosingScope, executeByHand, runInScope, type Scope } from './scope'
import {
  checkTask,
  checkTaskConfiguration,
  checkWrapConfiguration,
  wrappedTask,
  type CheckedTaskConfiguration,
  type Task,
  type TaskConfiguration,
  type TaskContext,
  type TaskResult,
  type WrapConfiguration,
} from './task-configuration'
import { RunsInFlight, shutdownError, TaskLock, type RunInFlight } from './task-lock'
import { Lease, time } from './time'

/** Options of a `LockingTaskExecutor`: defaults for all its tasks, and who hears of them. */
export interface LockingTaskExecutorOptions {
  /** For configurations that do not say. There is no default: choose one well above your longest task. */
  readonly defaultLockAtMostFor?: Duration | undefined
  /** For configurations that do not say. Default 0. */
  readonly defaultLockAtLeastFor?: Duration | undefined
  /** Hear what the executor does, in this order: metrics, logs. Default: nobody. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

export const EXECUTOR_OPTIONS = ['defaultLockAtMostFor', 'defaultLockAtLeastFor', 'listeners'] as const

/** For those who want a skip to be an error. */
export function skipError(event: LockSkippedEvent): LockError {
  const { name: lockName, reason } = event
  if (reason === 'shutdown') return shutdownError(lockName)
  const message = `Lock '${lockName}' ${describeRefusal(event)} – the task was skipped.`
  return new LockError('NOT_ACQUIRED', message, { lockName })
}

/** Runs tasks under a lock: tries to acquire it once, skips the task if somebody else holds it, and always unlocks. */
export class LockingTaskExecutor {
  readonly #provider: LockProvider
  readonly #listeners: readonly LockingTaskExecutorListener[]
  readonly #defaults: Partial<TaskConfiguration>
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
    this.#defaults = { lockAtMostFor: defaultLockAtMostFor, lockAtLeastFor: defaultLockAtLeastFor }
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
    return executeByHand(configuration, (each) => this.#execute(each, task))
  }

  async #execute<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>> {
    const checked = checkTaskConfiguration(configuration, this.#defaults)
    checkTask(task)
    const { name } = checked.lockConfiguration
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
      if (keepAlive) taskLock.keepAlive(keepAlive.atMost)
      const result = await this.#run(taskLock, event, task)
      outcome = 'succeeded'
      return result
    } finally {
      taskLock.end()
      await lock.unlock({ outcome }).catch((error: unknown) => {
        this.#tell('onUnlockFailed', { ...event, error })
        // The task's outcome stands and the lock expires; but somebody should hear of it.
        if (!this.#listeners.some((listener) => 'onUnlockFailed' in listener)) warn(error)
      })
    }
  }

  async #acquire(event: LockEvent): Promise<Lock | Refusal> {
    const signal = this.#runs.stopped
    let refusal: Refusal = { reason: 'held' }
    this.#tell('onLockAttempt', event)
    try {
      const lock = await this.#provider.lock(event.configuration, {
        signal,
        onRefused: (reason, holder) => (refusal = holder ? { reason, holder } : { reason }),
      })
      if (lock) {
        this.#tell('onLockAcquired', event)
        return lock
      }
    } catch (error) {
      // It waited, and was told to stop.
      if (!signal.aborted || error !== signal.reason) {
        this.#tell('onLockFailed', { ...event, error })
        throw error
      }
    }
    if (signal.aborted) refusal = { reason: 'shutdown' }
    this.#tell('onLockNotAcquired', { ...event, ...refusal })
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
      // Made when the task looks at it.
      get signal() {
        return lock.signal
      },
    }
    this.#tell('onTaskStarted', event)
    try {
      const value = await runInScope(lock, this.#provider, () => task(context))
      this.#tell('onTaskFinished', { ...event, duration: duration(), outcome: 'success' })
      return { executed: true, value }
    } catch (error) {
      this.#tell('onTaskFinished', { ...event, duration: duration(), outcome: 'error', error })
      throw error
    }
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
    return wrappedTask((each, run) => this.executeWithLock(each, run), configuration, task)
  }

  /**
   * For the end of the process: aborts the signals of the tasks that run, with a `LockError` `SHUTDOWN`, and waits until
   * they have ended and their locks are released, those in the background too. From now on tasks are skipped, for other
   * instances to run. Call it before the database is disconnected: nothing is sent to it afterwards, but for the release of
   * a task that ends after the timeout.
   *
   * @returns the names of the locks whose tasks still ran after the timeout; those stay locked
   */
  async shutdown(options: ShutdownOptions = {}): Promise<readonly string[]> {
    checkOptions(options, ['timeout'], 'shutdown options')
    const lease = new Lease(checkDuration(undefined, 'timeout', options.timeout ?? '10s'))
    const late = await this.#runs.stop(lease.remaining())
    await this.#provider.drain?.({ timeout: lease.remaining() })
    return late
  }
}
