import {
  checkTask,
  checkTaskConfiguration,
  type DefaultDurations,
  type TaskConfiguration,
  type TaskRequest,
} from './configuration'
import { aDuration } from './duration'
import { shutdownError, skipError, warn } from './errors'
import type { HeldLock } from './held-lock'
import {
  checkListeners,
  hasListeners,
  notify,
  type LockEvent,
  type LockingTaskExecutorListener,
} from './listener'
import type { Duration, ShutdownOptions, Skip, Task, TaskContext, TaskResult, UnlockOptions } from './lock'
import { acquireLock, checkProvider, type LockProvider } from './lock-provider'
import { checkOptions, type OptionChecks } from './options'
import { enclosingScope, runInScope } from './scope'
import { inTime, Lease, time } from './time'
import { wrappedTask, type WrapConfiguration } from './wrapped-task'

/** Options of a `LockingTaskExecutor`: defaults for all its tasks, and listeners to its events. */
export interface LockingTaskExecutorOptions {
  /** `lockAtMostFor` of configurations that do not set it. It has no default: choose a duration well above your longest task. */
  readonly defaultLockAtMostFor?: Duration | undefined
  /** `lockAtLeastFor` of configurations that do not set it. Default 0. */
  readonly defaultLockAtLeastFor?: Duration | undefined
  /** Listeners to the executor's events, for metrics and logs, called in this order. Default: none. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

export const EXECUTOR_OPTIONS = {
  defaultLockAtMostFor: aDuration,
  defaultLockAtLeastFor: aDuration,
  listeners: checkListeners,
} satisfies OptionChecks<LockingTaskExecutorOptions>

/** One call of an executor, from its attempt to acquire the lock until the lock is released. */
interface Run {
  readonly name: string
  lock?: HeldLock
}

/** Runs each task under its lock: skips the task if the lock is refused, and always releases the lock afterwards. */
export class LockingTaskExecutor {
  readonly #provider: LockProvider
  readonly #listeners: readonly LockingTaskExecutorListener[]
  readonly #defaults: DefaultDurations
  /** The runs that have not ended, and the end of each. */
  readonly #runs = new Map<Run, Promise<unknown>>()
  /** Aborts when no more runs may start. */
  readonly #stop = new AbortController()

  /**
   * @throws LockError `INVALID_CONFIGURATION` if `provider` is not a lock provider, for unknown options and impossible durations,
   *   and if `listeners` is not an array of objects
   */
  constructor(provider: LockProvider, options: LockingTaskExecutorOptions = {}) {
    this.#provider = checkProvider(provider)
    const checked = checkOptions(options, EXECUTOR_OPTIONS, 'executor options')
    this.#listeners = checked.listeners ?? []
    this.#defaults = {
      lockAtMostFor: checked.defaultLockAtMostFor,
      lockAtLeastFor: checked.defaultLockAtLeastFor ?? 0,
    }
  }

  /**
   * Runs the task if the lock can be acquired; otherwise skips it. Waits for the lock only with `wait`. Inside a task that holds
   * the same lock (same name, same provider), nested tasks run at once, but only one at a time.
   *
   * @returns `{ executed: true, value }` with what the task returned, or `{ executed: false, reason }`
   * @throws LockError `INVALID_CONFIGURATION`; `SKIPPED` or `SHUTDOWN` for a skip with `onSkip: 'throw'`; another code
   *   if it is unknown whether the lock was acquired. In all these cases the task did not run. What the task itself throws is
   *   passed on unchanged, even if the release fails
   */
  async executeWithLock<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>> {
    const request = checkTaskConfiguration(configuration, this.#defaults)
    const { name } = request.configuration
    checkTask(task, name)
    const event: LockEvent = { name, configuration: request.configuration }
    const outer = enclosingScope(this.#provider, name)
    const result = outer
      ? await this.#executeNested(outer.lock, outer.inner, event, task)
      : await this.#track(name, (run) => this.#execute(run, request, event, task))
    return result.executed ? result : skipped(result, request, event)
  }

  #track<T>(name: string, work: (run: Run) => Promise<T>): Promise<T> {
    const run: Run = { name }
    const tracked = work(run).finally(() => this.#runs.delete(run))
    this.#runs.set(
      run,
      tracked.catch(() => undefined),
    )
    return tracked
  }

  async #execute<T>(run: Run, request: TaskRequest, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    const lock = await this.#acquire(request, event)
    if ('reason' in lock) return { executed: false, ...lock }
    run.lock = lock
    let outcome: UnlockOptions['outcome'] = 'failed'
    try {
      const value = await this.#run(lock, event, task)
      outcome = 'succeeded'
      return { executed: true, value }
    } finally {
      await this.#release(lock, event, outcome)
    }
  }

  async #acquire(request: TaskRequest, event: LockEvent): Promise<HeldLock | Skip> {
    const stopped = this.#stop.signal
    if (stopped.aborted) return { reason: 'shutdown' }
    const listeners = this.#listeners
    let skip: Skip
    notify(listeners, 'onLockAttempt', event)
    try {
      const report = { event, listeners }
      const lock = await acquireLock(this.#provider, request, { report, stopped, caller: this })
      if (!('reason' in lock)) {
        notify(listeners, 'onLockAcquired', event)
        return lock
      }
      skip = lock
    } catch (error) {
      if (stopped.aborted && error === stopped.reason) skip = { reason: 'shutdown' }
      else if (request.signal?.aborted && error === request.signal.reason) skip = { reason: 'aborted' }
      else {
        notify(listeners, 'onLockFailed', { ...event, error })
        throw error
      }
    }
    notify(listeners, 'onLockNotAcquired', { ...event, ...skip })
    return skip
  }

  async #run<T>(lock: HeldLock, event: LockEvent, task: Task<T>): Promise<T> {
    const started = time.now()
    const context: TaskContext = {
      lock,
      // A getter, because the signal is created only if the task reads it.
      get signal() {
        return lock.signal
      },
    }
    const finished = (outcome: { outcome: 'succeeded' } | { outcome: 'failed'; error: unknown }): void => {
      notify(this.#listeners, 'onTaskFinished', { ...event, duration: time.now() - started, ...outcome })
    }
    notify(this.#listeners, 'onTaskStarted', event)
    try {
      const value = await runInScope(lock, this.#provider, () => task(context))
      finished({ outcome: 'succeeded' })
      return value
    } catch (error) {
      finished({ outcome: 'failed', error })
      throw error
    }
  }

  /** Releases the lock. A failure changes neither the task's outcome nor the expiry of the lock. */
  async #release(lock: HeldLock, event: LockEvent, outcome: UnlockOptions['outcome']): Promise<void> {
    try {
      await lock.unlock({ outcome })
    } catch (error) {
      notify(this.#listeners, 'onUnlockFailed', { ...event, error })
      if (!hasListeners(this.#listeners, 'onUnlockFailed')) warn(error)
    }
  }

  /** Runs a task that is nested in its own lock. Skips it while another nested task runs, because the two must not overlap. */
  async #executeNested<T>(
    lock: HeldLock,
    inner: number,
    event: LockEvent,
    task: Task<T>,
  ): Promise<TaskResult<T>> {
    if (inner > 0) return { executed: false, reason: 'nested' }
    return { executed: true, value: await this.#run(lock, event, task) }
  }

  /**
   * Creates a function that runs the task under the lock each time it is called, for schedulers that expect a callback. `this` and
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
    return wrappedTask((call, run) => this.executeWithLock(call, run), this.#defaults, configuration, task)
  }

  /**
   * Stops this executor for good. Call it at the end of the process, before you disconnect from the database. It aborts the signals
   * of the running tasks with a `LockError` `SHUTDOWN`, skips every new task, and leaves it to other instances. It waits until the
   * running tasks have ended and all locks are released, including those in the background. Afterwards it sends nothing to the
   * database, except for the release of a task that ends after the timeout. Other users of its provider are not affected: for locks
   * acquired by hand, call `provider.drain()`.
   *
   * @returns the names of the locks whose tasks were still running at the timeout; they stay held until their tasks end or they
   *   expire
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  async shutdown(options: ShutdownOptions = {}): Promise<readonly string[]> {
    const { timeout = 10_000 } = checkOptions(options, { timeout: aDuration }, 'shutdown options')
    const lease = new Lease(timeout)
    this.#stop.abort()
    const runs = [...this.#runs]
    for (const [{ name, lock }] of runs) lock?.stop(shutdownError(name))
    const ended = Promise.all(runs.map(([, end]) => end))
    await inTime(ended, lease.remaining(), () => new Error('not ended')).catch(() => undefined)
    const late = runs.filter(([run]) => this.#runs.has(run)).map(([{ name }]) => name)
    await this.#provider.drain?.({ timeout: lease.remaining(), caller: this })
    return late
  }
}

/** Reports a skip as `onSkip` specifies: calls the function, or throws. */
async function skipped(
  result: { readonly executed: false } & Skip,
  { onSkip }: TaskRequest,
  event: LockEvent,
): Promise<{ readonly executed: false } & Skip> {
  const { executed, ...skip } = result
  const skippedEvent = { ...event, ...skip }
  if (typeof onSkip === 'function') await onSkip(skippedEvent)
  if (onSkip === 'throw') throw skipError(skippedEvent)
  return result
}
