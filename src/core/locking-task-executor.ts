import {
  checkFinished,
  checkTask,
  parseTaskConfiguration,
  type DefaultDurations,
  type LockRequest,
  type TaskConfiguration,
} from './configuration'
import { aDuration, aLease } from './duration'
import { configurationError, shutdownError, skipError, unreleasedError, warn } from './errors'
import type { HeldLock } from './held-lock'
import {
  parseListeners,
  hasListeners,
  notify,
  type LockEvent,
  type LockingTaskExecutorListener,
  type TaskFinishedEvent,
} from './listener'
import type { Duration, Skip, Task, TaskContext, TaskResult } from './lock'
import { acquireLock, parseProvider, type LockProvider } from './lock-provider'
import { parseOptions, type OptionParsers } from './options'
import { lendLock, runInScope, scopesOf } from './scope'
import { inTime, Lease, time, whenOver } from './time'
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
  defaultLockAtMostFor: aLease,
  defaultLockAtLeastFor: aDuration,
  listeners: parseListeners,
} satisfies OptionParsers<LockingTaskExecutorOptions>

/** How a shutdown ends the tasks that are running. */
export interface ShutdownOptions {
  /** How long to wait at most until the running tasks have ended and their locks are released. Default 10 seconds. */
  readonly timeout?: Duration | undefined
  /**
   * How long the running tasks may go on before their signals abort; 0 aborts them at once. They have the rest of the timeout to
   * stop. Default: 5 seconds less than the timeout, or half of a timeout that is shorter than 10 seconds.
   */
  readonly abortAfter?: Duration | undefined
}

/** How long before the timeout the signals abort by default. In milliseconds. */
const TIME_TO_STOP = 5_000

/**
 * @returns the options in milliseconds, with their defaults
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseShutdown(options: ShutdownOptions): { timeout: number; abortAfter: number } {
  const parsed = parseOptions(options, { timeout: aDuration, abortAfter: aDuration }, 'shutdown options')
  const { timeout = 10_000 } = parsed
  const { abortAfter = Math.max(timeout - TIME_TO_STOP, timeout / 2) } = parsed
  if (abortAfter <= timeout) return { timeout, abortAfter }
  throw configurationError(
    `abortAfter (${abortAfter} ms) must not be longer than timeout (${timeout} ms), because a shutdown ends with its timeout.`,
  )
}

/** The environment variable in which the command line's `exec` passes the name of its lock to its command. */
export const HELD_BY_EXEC = 'SHEDLOCK_HELD_BY_EXEC'

/** Warns once, because the command may end with status 0, and `exec` then records that the job has succeeded. */
function warnUnderExec(name: string): void {
  if (process.env[HELD_BY_EXEC] !== name) return
  process.env[HELD_BY_EXEC] = ''
  warn(
    `Lock '${name}' is held by the exec that started this process, so the task was skipped, although exec will report success – let the command call the task without its lock, or start it without exec.`,
  )
}

/** Runs each task under its lock: skips the task if the lock is refused, and always releases the lock afterwards. */
export class LockingTaskExecutor {
  readonly #provider: LockProvider
  /** What this executor uses of its provider, from its first lock on. */
  #locks: Pick<LockProvider, 'acquire' | 'drain'> | undefined
  readonly #listeners: readonly LockingTaskExecutorListener[]
  readonly #defaults: DefaultDurations
  /** The runs that have not ended. */
  readonly #runs = new Set<Promise<unknown>>()
  /** The locks of the tasks that are running. */
  readonly #held = new Set<HeldLock>()
  /** Aborts when no more tasks may start. */
  readonly #shutdown = new AbortController()
  /** Whether a shutdown has aborted the signals of the running tasks. */
  #hasAbortedTasks = false

  /**
   * @throws LockError `INVALID_CONFIGURATION` if `provider` is not a lock provider, for unknown options and impossible durations,
   *   and if `listeners` is not an array of objects
   */
  constructor(provider: LockProvider, options: LockingTaskExecutorOptions = {}) {
    this.#provider = parseProvider(provider)
    const parsed = parseOptions(options, EXECUTOR_OPTIONS, 'executor options')
    const { listeners = [], defaultLockAtMostFor, defaultLockAtLeastFor, ...others } = parsed
    // As in `lockRequest`, an option that is left out above does not compile, and lint refuses one that is not used below.
    others satisfies Record<string, never>
    this.#listeners = listeners
    this.#defaults = { lockAtMostFor: defaultLockAtMostFor, lockAtLeastFor: defaultLockAtLeastFor }
  }

  /**
   * Runs the task if the lock can be acquired; otherwise skips it. Waits for the lock only with `wait`. Inside a task that holds
   * the same lock (same name, same provider), nested tasks run at once, but only one at a time.
   *
   * @returns `{ executed: true, value }` with what the task returned, or `{ executed: false, reason }`
   * @throws LockError `INVALID_CONFIGURATION`; `SKIPPED` or `SHUTDOWN` for a skip with `onSkip: 'throw'`; another code
   *   if it is unknown whether the lock was acquired. In all these cases the task did not run. `INVALID_CONFIGURATION` also if the task
   *   returned something that is not finished, such as an Observable, a generator or a process. What the task itself throws is passed on
   *   unchanged, even if the release fails
   */
  async executeWithLock<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>> {
    const request = parseTaskConfiguration(configuration, this.#defaults)
    const { name } = request.configuration
    checkTask(task, name)
    const event: LockEvent = { name, configuration: request.configuration }
    const run = this.#execute(request, event, task)
    this.#runs.add(run)
    try {
      const result = await run
      if (result.executed) return result
      const { executed: _, ...skip } = result
      if (skip.reason === 'held') warnUnderExec(name)
      const { onSkip } = request
      if (typeof onSkip === 'function') await onSkip({ ...event, ...skip })
      if (onSkip === 'throw') throw skipError({ name, ...skip })
      return result
    } finally {
      this.#runs.delete(run)
    }
  }

  async #execute<T>(request: LockRequest, event: LockEvent, task: Task<T>): Promise<TaskResult<T>> {
    const lock = await this.#acquire(request, event)
    if ('reason' in lock) return { executed: false, ...lock }
    this.#held.add(lock)
    // A shutdown may have begun after the lock was acquired, for example in a listener.
    if (this.#hasAbortedTasks) lock.abort(shutdownError(lock.name))
    const context: TaskContext = {
      lock,
      // A getter, because the signal is created only if the task reads it.
      get signal() {
        return lock.signal
      },
    }
    let end: Pick<TaskFinishedEvent, 'outcome' | 'error'> = { outcome: 'succeeded' }
    const started = time.now()
    notify(this.#listeners, 'onTaskStarted', event)
    try {
      const { slot } = event.configuration
      const value = await runInScope(lock, this.#provider, slot, task, context)
      return { executed: true, value: checkFinished(value, lock.name) }
    } catch (error) {
      end = { outcome: 'failed', error }
      throw error
    } finally {
      const duration = time.now() - started
      notify(this.#listeners, 'onTaskFinished', { ...event, duration, ...end })
      this.#held.delete(lock)
      try {
        await lock.end(end.outcome, end.error)
      } catch (error) {
        // Changes neither the outcome of the task nor the expiry of the lock.
        notify(this.#listeners, 'onUnlockFailed', { ...event, error })
        if (!hasListeners(this.#listeners, 'onUnlockFailed')) warn(unreleasedError(lock.name, error))
      }
    }
  }

  async #acquire(request: LockRequest, event: LockEvent): Promise<HeldLock | Skip> {
    const shutdown = this.#shutdown.signal
    if (shutdown.aborted) return { reason: 'shutdown' }
    const around = scopesOf(this.#provider, event.name)
    const outer = around.find(({ lock }) => lock.remaining() > 0)
    if (outer) {
      // Its scope forgets the lock when its run ends, for which a nested task may wait.
      const { lock: lent } = outer
      // oxlint-disable-next-line typescript/require-await -- what it throws becomes a rejection
      const source = { acquire: async () => lendLock(lent, outer.inner, around, request.configuration.slot) }
      const lock = await acquireLock(source, request, { shutdown })
      if (!('reason' in lock)) lock.abortWith(lent.signal)
      return lock
    }
    const listeners = this.#listeners
    notify(listeners, 'onLockAttempt', event)
    try {
      this.#locks ??= this.#provider.forCaller?.() ?? this.#provider
      const lock = await acquireLock(this.#locks, request, { report: { event, listeners }, shutdown })
      if ('reason' in lock) notify(listeners, 'onLockNotAcquired', { ...event, ...lock })
      else notify(listeners, 'onLockAcquired', event)
      return lock
    } catch (error) {
      notify(listeners, 'onLockFailed', { ...event, error })
      throw error
    }
  }

  /**
   * Creates a function that runs the task under the lock each time it is called, for schedulers that expect a callback. `this` and
   * the arguments are passed through. The function always returns a promise and never throws synchronously; with `onError` the
   * promise never rejects, and resolves to `undefined`, which suits the types of croner and cron.
   *
   * A job with neither `slot` nor `lockAtLeastFor` causes a process warning, `SHEDLOCK_NO_SLOT`, once for each name: a short run would
   * be repeated by an instance whose timer fires a little later. `lockAtLeastFor: 0` says that this does no harm.
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
   * Stops this executor for good. Call it at the end of the process, before you disconnect from the database. It skips every new
   * task, and leaves it to other instances. Tasks that are running go on; after `abortAfter` their signals abort with a `LockError`
   * `SHUTDOWN`. It waits until they have ended and all locks are released, including those in the background. Afterwards it sends
   * nothing to the database, except for the release of a task that ends after the timeout. Other users of its provider are not
   * affected: for locks acquired by hand, call `provider.drain()`. A second call with `abortAfter: 0` aborts the signals at once.
   *
   * @param options how long to wait. Default: 10 seconds, of which the signals are aborted for the last 5
   * @returns the names of the locks whose tasks were still running at the timeout; they stay held until their tasks end or they
   *   expire
   * @throws LockError `INVALID_CONFIGURATION` for wrong durations, and for an `abortAfter` that is longer than the timeout
   */
  async shutdown(options: ShutdownOptions = {}): Promise<readonly string[]> {
    const { timeout, abortAfter } = parseShutdown(options)
    const untilTimeout = new Lease(timeout)
    const untilAbort = untilTimeout.lasting(abortAfter)
    this.#shutdown.abort()
    const abort = (): void => {
      this.#hasAbortedTasks = true
      for (const lock of this.#held) lock.abort(shutdownError(lock.name))
    }
    const cancelAbort = whenOver(() => untilAbort.remaining(), abort)
    const ended = Promise.allSettled(this.#runs)
    await inTime(ended, untilTimeout.remaining(), () => new Error('not ended')).catch(abort)
    cancelAbort()
    const late = Array.from(this.#held, ({ name }) => name)
    await this.#locks?.drain?.(untilTimeout.remaining())
    // A nested task has the name of the task around it.
    return [...new Set(late)]
  }
}
