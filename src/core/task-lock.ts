import { LockError, noLongerHeld, shutdownError } from './errors'
import { keepAlive, tellExtension } from './keep-alive'
import { isHeard, notify, type LockEvent, type LockingTaskExecutorListener } from './listener'
import type { ActiveLock, Duration, Lock } from './lock'
import { checkLease } from './lock-configuration'
import { inTime, Lease, whenOver, type Cancel } from './time'

/** A lock as the task that runs under it sees it. The listeners hear what becomes of it. */
export class TaskLock implements ActiveLock {
  readonly #lock: Lock
  readonly #event: LockEvent
  readonly #listeners: readonly LockingTaskExecutorListener[]
  #controller: AbortController | undefined
  /** Why the task has to stop. */
  #reason: LockError | undefined
  #isHeld = true
  #isWatched = false
  #cancelKeepAlive: Cancel | undefined

  constructor(lock: Lock, event: LockEvent, listeners: readonly LockingTaskExecutorListener[]) {
    this.#lock = lock
    this.#event = event
    this.#listeners = listeners
    if (isHeard(listeners, 'onLockLost')) this.#watch()
  }

  get name(): string {
    return this.#lock.name
  }

  get acquisition(): object | undefined {
    return this.#lock.acquisition
  }

  get signal(): AbortSignal {
    this.#watch()
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  remaining(): number {
    return this.#isHeld ? this.#lock.remaining() : 0
  }

  async fencingToken(): Promise<number> {
    this.#throwUnlessHeld()
    return this.#lock.fencingToken()
  }

  async extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<this> {
    checkLease(this.name, lockAtMostFor, lockAtLeastFor ?? 0)
    this.#throwUnlessHeld()
    const extend = () => this.#lock.extend(lockAtMostFor, lockAtLeastFor)
    await tellExtension(this.#listeners, this.#event, extend)
    return this
  }

  /**
   * Extends the lock for as long as the task runs.
   *
   * @param atMost after how many milliseconds the task has to stop, and the lock is left to expire; may be `Infinity`
   */
  keepAlive(atMost: number): void {
    const { lockAtMostFor } = this.#event.configuration
    const cancels = [keepAlive(this, lockAtMostFor)]
    this.#cancelKeepAlive = () => {
      for (const cancel of cancels) cancel()
    }
    if (atMost === Infinity) return
    const limit = new Lease(atMost)
    const stop = (): void => {
      this.#lose(
        noLongerHeld('LOCK_LOST', this.name, 'it is no longer extended, because keepAlive.atMost is over'),
      )
    }
    cancels.push(whenOver(() => limit.remaining(), stop))
  }

  /** Tells the task to stop, though the lock is still held. Only the first reason counts. */
  abort(reason: LockError): void {
    if (this.#reason) return
    this.#reason = reason
    this.#controller?.abort(reason)
  }

  /** The task has ended. */
  end(): void {
    this.#isHeld = false
    this.#cancelKeepAlive?.()
    if (this.#controller) this.abort(this.#hasEnded())
  }

  /** After this the signal is looked at anew, which tells even a process that was blocked. */
  #watch(): void {
    const { signal } = this.#lock
    if (this.#isWatched || !this.#isHeld) return
    this.#isWatched = true
    const lost = (): void => {
      const { reason } = signal as { reason: unknown }
      const isLost = reason instanceof LockError && reason.code === 'LOCK_LOST'
      this.#lose(
        isLost ? reason : noLongerHeld('LOCK_LOST', this.name, 'its provider has unlocked it', reason),
      )
    }
    if (signal.aborted) lost()
    else signal.addEventListener('abort', lost, { once: true })
  }

  #lose(error: LockError): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.abort(error)
    notify(this.#listeners, 'onLockLost', { ...this.#event, error })
  }

  #throwUnlessHeld(): void {
    if (!this.#isHeld) throw this.#reason ?? this.#hasEnded()
  }

  #hasEnded(): LockError {
    return noLongerHeld('NOT_LOCKED', this.name, 'its task has ended')
  }
}

/** One call of an executor, from its attempt to acquire the lock until the lock is released. */
export interface RunInFlight {
  readonly name: string
  lock: TaskLock | undefined
}

/** The runs of one executor that have not ended, so that a shutdown can stop them and wait for them. */
export class RunsInFlight {
  readonly #runs = new Map<RunInFlight, Promise<unknown>>()
  readonly #stop = new AbortController()

  /** Aborts when no further run may begin. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  track<T>(name: string, work: (run: RunInFlight) => Promise<T>): Promise<T> {
    const run: RunInFlight = { name, lock: undefined }
    const tracked = work(run).finally(() => this.#runs.delete(run))
    this.#runs.set(
      run,
      tracked.catch(() => undefined),
    )
    return tracked
  }

  /**
   * Tells all runs to stop, lets no more begin, and waits until they have ended, but not longer than the timeout.
   *
   * @returns the names of those that have not ended
   */
  async stop(timeout: number): Promise<readonly string[]> {
    this.#stop.abort()
    const runs = [...this.#runs]
    for (const [{ name, lock }] of runs) lock?.abort(shutdownError(name))
    const ended = Promise.all(runs.map(([, run]) => run))
    await inTime(ended, timeout, () => new Error('not ended')).catch(() => undefined)
    return runs.filter(([run]) => this.#runs.has(run)).map(([{ name }]) => name)
  }
}
