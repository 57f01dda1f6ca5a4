import { atHalfTime, whenAborted, whenOver, type Alarm } from './alarm'
import { milliseconds, type Duration } from './duration'
import { LockError } from './errors'
import type { ActiveLock, SimpleLock } from './lock'

export interface WatchedLockOptions {
  /** Extends the lock at half time. The first extension is as long as this; later ones as long as the last one. */
  readonly keepAliveFor?: number | undefined
  onExtended?(): void
  /** An extension got no answer; the lease before it stands. */
  onExtendFailed?(error: unknown): void
  onLost?(error: LockError): void
  /** It was unlocked, or that was tried. */
  onEnded?(): void
}

/** One acquisition until its end, through all its extensions: knows when it is lost, and tells by its signal. */
export class WatchedLock implements ActiveLock {
  readonly name: string
  readonly acquisition: object | undefined
  readonly #options: WatchedLockOptions
  readonly #controller = new AbortController()
  #lock: SimpleLock | undefined
  #keepAliveFor: number | undefined
  #alarms: Alarm[] = []
  #turn: Promise<unknown> = Promise.resolve()
  #lost: LockError | undefined
  #ended = false

  constructor(lock: SimpleLock, options: WatchedLockOptions = {}) {
    this.name = lock.name
    this.acquisition = lock.acquisition
    this.#options = options
    this.#keepAliveFor = options.keepAliveFor
    this.#watch(lock)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether the lock can be trusted. A promise or timer that outlives its task sees `false`. */
  get locked(): boolean {
    return this.remaining() > 0
  }

  get ended(): boolean {
    return this.#ended
  }

  remaining(): number {
    return this.#ended || this.#lost ? 0 : (this.#lock?.remaining() ?? 0)
  }

  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void> {
    // A lock is spent by its extension, so two at once take turns.
    const extension = this.#turn.then(() => this.#extend(lockAtMostFor, lockAtLeastFor))
    this.#turn = extension.catch(() => undefined)
    return extension
  }

  /** Asks the task to stop, though the lock is still held. Only the first reason counts. */
  abort(error: LockError): void {
    if (!this.#ended) this.#controller.abort(error)
  }

  /** Frees the lock, after the extension in flight. Rejects when it could not be freed, and may then be called again. */
  end(): Promise<void> {
    this.#ended = true
    this.#cancelAlarms()
    const ending = this.#turn.then(() => this.#unlock())
    this.#turn = ending.catch(() => undefined)
    return ending
  }

  async #unlock(): Promise<void> {
    try {
      await this.#lock?.unlock()
      this.#lock = undefined
    } finally {
      this.#options.onEnded?.()
    }
  }

  async #extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void> {
    this.#throwIfLost()
    if (this.#ended || !this.#lock) throw this.#error('NOT_LOCKED', 'its task has ended')
    let longer: SimpleLock | undefined
    try {
      longer = await this.#lock.extend(lockAtMostFor, lockAtLeastFor)
    } catch (error) {
      this.#options.onExtendFailed?.(error)
      throw error
    }
    this.#lock = longer
    if (!longer) this.#lose('the database refused to extend it, because its lease was over')
    // The answer may have come after the old lease was over: the task was told to stop, and that stands.
    this.#throwIfLost()
    if (!longer) throw this.#error('LOCK_LOST', 'its lease was over when its task ended')
    if (this.#keepAliveFor !== undefined) this.#keepAliveFor = milliseconds(lockAtMostFor)
    this.#watch(longer)
    this.#options.onExtended?.()
  }

  #watch(lock: SimpleLock): void {
    this.#cancelAlarms()
    this.#lock = lock
    if (this.#ended) return
    const remaining = (): number => lock.remaining()
    const over = whenOver(remaining, () => {
      this.#lose('its lease is over: the task took longer than lockAtMostFor')
    })
    this.#alarms.push(over)
    // The lease may be over at once.
    if (this.#lost) return
    const keepAliveFor = this.#keepAliveFor
    if (keepAliveFor !== undefined) this.#alarms.push(atHalfTime(remaining, () => this.extend(keepAliveFor)))
    if (lock.signal)
      this.#alarms.push(
        whenAborted(lock.signal, (reason) => {
          this.#lose('the provider that holds it gave it up', reason)
        }),
      )
  }

  #cancelAlarms(): void {
    for (const alarm of this.#alarms.splice(0)) alarm.cancel()
  }

  #lose(why: string, cause?: unknown): void {
    if (this.#ended || this.#lost) return
    this.#lost = this.#error('LOCK_LOST', why, cause)
    this.#cancelAlarms()
    this.#controller.abort(this.#lost)
    this.#options.onLost?.(this.#lost)
  }

  #throwIfLost(): void {
    if (this.#lost) throw this.#lost
  }

  #error(code: 'LOCK_LOST' | 'NOT_LOCKED', why: string, cause?: unknown): LockError {
    const message = `Lock '${this.name}' can no longer be trusted: ${why}.`
    return new LockError(code, message, { lockName: this.name, cause })
  }
}
