import {
  LockError,
  notify,
  type CheckedLockConfiguration,
  type EventOf,
  type LockEvent,
  type LockingTaskExecutorListener,
  type LockOptions,
  type Refusal,
  type SimpleLock,
} from '../core'

/** One fire from the question whether it runs here to the end of its run; its listeners hear what those of an executor do. */
export class CoordinatedRun {
  /** When its lock was freed, or could not be. */
  readonly ended: Promise<void>
  readonly #event: LockEvent
  #lock: SimpleLock | undefined
  #started = 0
  #markEnded: () => void = () => undefined

  constructor(
    configuration: CheckedLockConfiguration,
    private readonly listeners: readonly LockingTaskExecutorListener[],
  ) {
    this.#event = { name: configuration.name, configuration }
    this.ended = new Promise((resolve) => (this.#markEnded = resolve))
  }

  /** @returns whether there is a lock, and node-cron runs the task next */
  async begin(ask: (options: LockOptions) => Promise<SimpleLock | undefined>): Promise<boolean> {
    let refusal: Refusal = { reason: 'held' }
    this.#tell('onLockAttempt', this.#event)
    try {
      this.#lock = await ask({ onRefused: (reason, holder) => (refusal = { reason, holder }) })
    } catch (error) {
      this.#tell('onLockFailed', { ...this.#event, error })
      throw error
    }
    if (!this.#lock) {
      this.#tell('onLockNotAcquired', { ...this.#event, ...refusal })
      return false
    }
    this.#tell('onLockAcquired', this.#event)
    this.#watch(this.#lock.signal)
    this.#started = performance.now()
    this.#tell('onTaskStarted', this.#event)
    return true
  }

  async end(): Promise<void> {
    const duration = performance.now() - this.#started
    this.#tell('onTaskFinished', { ...this.#event, duration, outcome: 'success' })
    try {
      await this.#lock?.unlock()
    } catch (error) {
      this.#tell('onUnlockFailed', { ...this.#event, error })
      throw error
    } finally {
      this.#markEnded()
    }
  }

  #watch(signal: AbortSignal): void {
    const lost = (): void => {
      const error: unknown = signal.reason
      if (error instanceof LockError && error.code === 'LOCK_LOST')
        this.#tell('onLockLost', { ...this.#event, error })
    }
    signal.addEventListener('abort', lost, { once: true })
  }

  #tell<Method extends keyof LockingTaskExecutorListener>(method: Method, event: EventOf<Method>): void {
    notify(this.listeners, method, event)
  }
}
