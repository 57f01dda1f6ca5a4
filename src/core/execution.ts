import { enclosingFrame, runInFrame, type Frame } from './active-lock'
import { LockError } from './errors'
import { notify, type EventOf, type LockEvent, type LockingTaskExecutorListener } from './listener'
import type { LockProvider, SimpleLock } from './lock'
import { shutdownError, type RunInFlight, type RunsInFlight } from './runs-in-flight'
import type { Task, TaskResult } from './task'
import type { CheckedTaskConfiguration } from './task-configuration'
import { warn } from './warn'
import { WatchedLock } from './watched-lock'

/** What all executions of one executor share. */
export interface ExecutorParts {
  readonly provider: LockProvider
  readonly listeners: readonly LockingTaskExecutorListener[]
  readonly runs: RunsInFlight
}

const SKIPPED = Object.freeze({ executed: false } as const)

/** One call of an executor: asks for the lock, skips the task or runs it, and always unlocks. */
export class Execution<T> {
  readonly #event: LockEvent

  constructor(
    private readonly executor: ExecutorParts,
    private readonly configuration: CheckedTaskConfiguration,
    private readonly task: Task<T>,
  ) {
    const { lockConfiguration } = configuration
    this.#event = { name: lockConfiguration.name, configuration: lockConfiguration }
  }

  /** As `LockingTaskExecutor.executeWithLock`. */
  async result(): Promise<TaskResult<T>> {
    const { provider, runs } = this.executor
    const { name } = this.#event
    const enclosing = enclosingFrame(provider, name)
    const result = enclosing
      ? await this.#runInside(enclosing)
      : await runs.track(name, (inFlight) => this.#askAndRun(inFlight))
    if (!result.executed) await this.#notAcquired()
    return result
  }

  async #askAndRun(inFlight: RunInFlight): Promise<TaskResult<T>> {
    const { runs } = this.executor
    if (runs.isStopped()) return SKIPPED
    const acquired = await this.#ask()
    if (!acquired) return SKIPPED
    if (runs.isStopped()) return this.#giveBack(acquired)
    const lock = this.#watch(acquired)
    inFlight.lock = lock
    try {
      return await this.#run(lock)
    } finally {
      await lock.end().catch((error: unknown) => {
        this.#unlockFailed(error)
      })
    }
  }

  async #ask(): Promise<SimpleLock | undefined> {
    this.#tell('onLockAttempt', this.#event)
    try {
      const lock = await this.executor.provider.lock(this.#event.configuration)
      this.#tell(lock ? 'onLockAcquired' : 'onLockNotAcquired', this.#event)
      return lock
    } catch (error) {
      this.#tell('onLockFailed', { ...this.#event, error })
      throw error
    }
  }

  /** Frees it at once: lockAtLeastFor is not to keep others from running what did not run here. */
  async #giveBack(lock: SimpleLock): Promise<typeof SKIPPED> {
    try {
      const short = await lock.extend(1, 0)
      await short?.unlock()
    } catch (error) {
      this.#unlockFailed(error)
    }
    return SKIPPED
  }

  #watch(lock: SimpleLock): WatchedLock {
    const { lockConfiguration, keepAlive } = this.configuration
    return new WatchedLock(lock, {
      keepAliveFor: keepAlive ? lockConfiguration.lockAtMostFor : undefined,
      onExtended: () => {
        this.#tell('onLockExtended', this.#event)
      },
      onExtendFailed: (error) => {
        this.#tell('onExtendFailed', { ...this.#event, error })
      },
      onLost: (error) => {
        this.#tell('onLockLost', { ...this.#event, error })
      },
    })
  }

  /** The same name again inside of its own task. A sibling that came second must not run beside the first. */
  async #runInside(frame: Frame): Promise<TaskResult<T>> {
    if (frame.occupied) return SKIPPED
    frame.occupied = true
    try {
      return await this.#run(frame.lock)
    } finally {
      frame.occupied = false
    }
  }

  async #run(lock: WatchedLock): Promise<TaskResult<T>> {
    const { task } = this
    const started = performance.now()
    const duration = (): number => performance.now() - started
    this.#tell('onTaskStarted', this.#event)
    try {
      const context = { signal: lock.signal, lock }
      const value = await runInFrame(lock, this.executor.provider, () => task(context))
      this.#tell('onTaskFinished', { ...this.#event, duration: duration(), outcome: 'success' })
      return { executed: true, value }
    } catch (error) {
      this.#tell('onTaskFinished', { ...this.#event, duration: duration(), outcome: 'error', error })
      throw error
    }
  }

  async #notAcquired(): Promise<void> {
    const { onNotAcquired } = this.configuration
    const { name } = this.#event
    if (typeof onNotAcquired === 'function') await onNotAcquired(this.#event)
    if (onNotAcquired !== 'throw') return
    if (this.executor.runs.isStopped()) throw shutdownError(name)
    throw new LockError('NOT_ACQUIRED', `Lock '${name}' is held by somebody else – the task was skipped.`, {
      lockName: name,
    })
  }

  /** The task's outcome stands and the lease frees the lock; but somebody should hear of it. */
  #unlockFailed(error: unknown): void {
    this.#tell('onUnlockFailed', { ...this.#event, error })
    if (!this.executor.listeners.some((listener) => 'onUnlockFailed' in listener)) warn(error)
  }

  #tell<Method extends keyof LockingTaskExecutorListener>(method: Method, event: EventOf<Method>): void {
    notify(this.executor.listeners, method, event)
  }
}
