import type { Duration } from './duration'
import { LockError } from './errors'
import { whenOver, type Lease } from './lease'
import type { Acquisition, ActiveLock } from './lock'
import { checkLease } from './lock-configuration'
import type { Cancel } from './time'

/** Hears what becomes of a held lock. */
export interface HeldLockObserver {
  onExtended?(): void
  /** An extension got no answer; the lease before it stands. */
  onExtendFailed?(error: unknown): void
  onLost?(error: LockError): void
  /** It is unlocked, or that was tried. */
  onEnded?(): void
}

const LEASE_IS_OVER = 'its lease is over: the task took longer than lockAtMostFor'
const LONGEST_PAUSE = 30_000
const SHORTEST_PAUSE = 10

/**
 * One acquisition from its beginning to its end, through all its extensions: they take turns, its signal tells when it is
 * lost, and it can be kept alive.
 */
export class HeldLock implements ActiveLock {
  readonly #storage: Acquisition
  readonly #observers: HeldLockObserver[] = []
  #controller: AbortController | undefined
  #reason: LockError | undefined
  #lease: Pick<Lease, 'remaining'>
  #turn: Promise<unknown> = Promise.resolve()
  #state: 'held' | 'lost' | 'ended' = 'held'
  #freed = false
  #lost: LockError | undefined
  #keepAliveFor: number | undefined
  #cancelOver: Cancel | undefined
  #cancelKeepAlive: Cancel | undefined

  /** @param acquisition what functions of the storage find under this name */
  constructor(
    readonly name: string,
    storage: Acquisition,
    readonly acquisition: object | undefined = storage,
  ) {
    this.#storage = storage
    this.#lease = storage.lease
    this.#watch()
  }

  /** Made when somebody looks: most locks end without. */
  get signal(): AbortSignal {
    // A process that was blocked for so long has not heard of it by a timer yet.
    if (this.#lease.remaining() === 0) this.lose(LEASE_IS_OVER)
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#state === 'ended') this.#reason ??= this.#ended()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  remaining(): number {
    return this.#state === 'held' ? this.#lease.remaining() : 0
  }

  observe(observer: HeldLockObserver): void {
    this.#observers.push(observer)
  }

  /** Extends at half time, by this much or by what the last extension asked for, until the lock ends or is lost. */
  keepAlive(lockAtMostFor: number): void {
    this.#keepAliveFor = lockAtMostFor
    this.#watch()
  }

  async extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void> {
    const checked = checkLease(this.name, lockAtMostFor, lockAtLeastFor ?? 0)
    const atLeast = lockAtLeastFor === undefined ? undefined : checked.lockAtLeastFor
    await this.#inTurn(() => this.#extend(checked.lockAtMostFor, atLeast))
  }

  async fencingToken(): Promise<number> {
    this.#throwUnlessHeld()
    if (!this.#storage.fencingToken)
      throw new LockError(
        'INVALID_CONFIGURATION',
        `The provider of lock '${this.name}' has no fencing tokens – use one of this package, such as typeOrmLockProvider.`,
        { lockName: this.name },
      )
    const token = await this.#storage.fencingToken()
    if (token === undefined) this.lose('its row in the database no longer belongs to it')
    this.#throwUnlessHeld()
    return Number(token)
  }

  /** Asks the task to stop, though the lock is still held. Only the first reason counts. */
  abort(error: LockError): void {
    if (this.#state !== 'held') return
    this.#reason ??= error
    this.#controller?.abort(this.#reason)
  }

  /** The holder can no longer trust the lock. */
  lose(why: string, cause?: unknown): void {
    if (this.#state !== 'held') return
    const error = this.#error('LOCK_LOST', why, cause)
    this.abort(error)
    this.#state = 'lost'
    this.#lost = error
    this.#stopTimers()
    this.#tell((observer) => observer.onLost?.(error))
  }

  /**
   * Releases the lock, after the extension in flight. Rejects when it could not be released, and may then be called again.
   *
   * @param early releases it at once, whatever `lockAtLeastFor` says, because its task did not run
   */
  async end({ early = false } = {}): Promise<void> {
    this.#stopTimers()
    if (this.#controller) this.abort(this.#ended())
    this.#state = 'ended'
    await this.#inTurn(async () => {
      if (this.#freed) return
      try {
        await this.#storage.unlock(early)
        this.#freed = true
      } finally {
        this.#tell((observer) => observer.onEnded?.())
      }
    })
  }

  async #extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<void> {
    this.#throwUnlessHeld()
    try {
      const longer = await this.#storage.extend(lockAtMostFor, lockAtLeastFor)
      if (longer) this.#lease = longer
      else this.lose('the database refused to extend it, because its lease was over')
      // The process may have slept so long that no timer could tell.
      if (this.#lease.remaining() === 0) this.lose('its extension was answered after its lease was over')
    } catch (error) {
      this.#tell((observer) => observer.onExtendFailed?.(error))
      throw error
    }
    // The answer may have come after the old lease was over: the task was told to stop, and that stands.
    if (this.#lost) throw this.#lost
    if (this.#keepAliveFor !== undefined) this.#keepAliveFor = lockAtMostFor
    if (this.#state === 'held') this.#watch()
    this.#tell((observer) => observer.onExtended?.())
  }

  #watch(): void {
    this.#stopTimers()
    this.#cancelOver = whenOver(
      () => this.#lease.remaining(),
      () => {
        this.lose(LEASE_IS_OVER)
      },
    )
    if (this.#keepAliveFor !== undefined) this.#extendAfter(this.#lease.remaining() / 2)
  }

  /** An extension that fails is tried again at half of what remains, until nothing does. */
  #extendAfter(pause: number): void {
    const target = this.#lease.remaining() - pause
    const extend = (): Promise<void> => this.#extend(this.#keepAliveFor ?? 0, undefined)
    this.#cancelKeepAlive = whenOver(
      () => this.#lease.remaining() - target,
      () => {
        this.#inTurn(extend).catch(() => {
          const remaining = this.remaining()
          if (remaining > 0)
            this.#extendAfter(Math.max(SHORTEST_PAUSE, Math.min(remaining / 2, LONGEST_PAUSE)))
        })
      },
    )
  }

  #stopTimers(): void {
    this.#cancelOver?.()
    this.#cancelKeepAlive?.()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  #throwUnlessHeld(): void {
    if (this.#lost) throw this.#lost
    if (this.#state === 'ended') throw this.#ended()
  }

  #tell(call: (observer: HeldLockObserver) => void): void {
    this.#observers.forEach(call)
  }

  #ended(): LockError {
    return this.#error('NOT_LOCKED', 'its task has ended')
  }

  #error(code: 'LOCK_LOST' | 'NOT_LOCKED', why: string, cause?: unknown): LockError {
    const message = `Lock '${this.name}' can no longer be trusted: ${why}.`
    return new LockError(code, message, { lockName: this.name, cause })
  }
}
