import { invalid, noLongerHeld, warn, type LockError } from './errors'
import type { Duration, Lock, UnlockOptions } from './lock'
import { checkLease } from './lock-configuration'
import { whenOver, type Cancel, type Lease } from './time'

/**
 * What a storage knows and does for one acquisition; `createLock` makes a lock of it. Requests may arrive late: none of these
 * may shorten a lease, or revive one that is over or released.
 */
export interface Acquisition {
  /** How long the holder may trust the lock. Begin it before the request is sent. */
  readonly lease: Pick<Lease, 'remaining'>
  /**
   * Makes the lease last at least `lockAtMostFor` milliseconds from now.
   *
   * @param lockAtLeastFor for how many milliseconds from the acquisition `unlock` leaves the lock held; `undefined`: unchanged
   * @returns the new lease, or `undefined` when the old one was over
   */
  extend(
    lockAtMostFor: number,
    lockAtLeastFor: number | undefined,
  ): Promise<Pick<Lease, 'remaining'> | undefined>
  /**
   * Reads a positive safe integer that is greater than the token of every earlier acquisition of this name. Left out where the
   * storage has no tokens.
   *
   * @returns the token, or `undefined` when the lock is no longer this holder's
   */
  fencingToken?(): Promise<number | undefined>
  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. If it rejects, it may be called again. It may be called
   * when the lease is over: if nobody has acquired the lock since, the outcome still counts.
   *
   * @param outcome how the run ended; `unused`: nothing ran, so release the lock at once, and let its slot be acquired again
   */
  unlock(outcome: UnlockOptions['outcome']): Promise<void>
}

/** Makes the lock of an acquisition, for those who write a `LockProvider`. Call it as soon as the storage has answered. */
export function createLock(name: string, acquisition: Acquisition): Lock {
  return new HeldLock(name, acquisition)
}

type End = readonly [code: 'LOCK_LOST' | 'NOT_LOCKED', why: string]

/** One lock from its acquisition to its end. Its extensions and its release take turns. */
class HeldLock implements Lock {
  #lease: Acquisition['lease']
  /** Why it is not held any more; the error is made when somebody needs it. */
  #end: End | undefined
  #error: LockError | undefined
  #isReleased = false
  #turn: Promise<unknown> = Promise.resolve()
  #controller: AbortController | undefined
  #cancelExpiry: Cancel | undefined

  constructor(
    readonly name: string,
    readonly acquisition: Acquisition,
  ) {
    this.#lease = acquisition.lease
  }

  /** Made when somebody reads it: most locks end without one. */
  get signal(): AbortSignal {
    // A process that was blocked for so long has not heard of it by a timer yet.
    this.#loseIfOver()
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#end) this.#controller.abort(this.#errorOf(this.#end))
      else this.#watchLease()
    }
    return this.#controller.signal
  }

  remaining(): number {
    return this.#end ? 0 : this.#lease.remaining()
  }

  async fencingToken(): Promise<number> {
    this.#throwUnlessHeld()
    if (!this.acquisition.fencingToken)
      throw invalid(
        `The provider of lock '${this.name}' has no fencing tokens – use a provider of this package, such as typeOrmLockProvider.`,
        this.name,
      )
    const token = await this.acquisition.fencingToken()
    if (token === undefined) this.#lose('its row in the database no longer belongs to it')
    this.#throwUnlessHeld()
    return Number(token)
  }

  async extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<this> {
    const checked = checkLease(this.name, lockAtMostFor, lockAtLeastFor ?? 0)
    const atLeast = lockAtLeastFor === undefined ? undefined : checked.lockAtLeastFor
    await this.#inTurn(() => this.#extend(checked.lockAtMostFor, atLeast))
    return this
  }

  async unlock({ outcome }: UnlockOptions = {}): Promise<void> {
    this.#endWith('NOT_LOCKED', 'it was unlocked')
    await this.#inTurn(async () => {
      if (this.#isReleased) return
      await this.acquisition.unlock(outcome)
      this.#isReleased = true
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unlock().catch(warn)
  }

  async #extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<void> {
    this.#throwUnlessHeld()
    const longer = await this.acquisition.extend(lockAtMostFor, lockAtLeastFor)
    // Unlocked meanwhile: it was extended, and is released next.
    if (this.#end?.[0] === 'NOT_LOCKED') return
    const tooLate = 'its extension was answered after its lease was over'
    // Whoever was told that the old lease was over has stopped, and that is final.
    this.#throwUnlessHeld(tooLate)
    if (longer) this.#lease = longer
    else this.#lose('the database refused to extend it, because its lease was over')
    // The process may have slept for longer than the new one.
    this.#throwUnlessHeld(tooLate)
    if (this.#controller) this.#watchLease()
  }

  #watchLease(): void {
    this.#cancelExpiry?.()
    this.#cancelExpiry = whenOver(
      () => this.#lease.remaining(),
      () => {
        this.#loseIfOver()
      },
    )
  }

  #loseIfOver(why = 'its lease is over, because the task ran longer than lockAtMostFor'): void {
    if (this.#lease.remaining() === 0) this.#lose(why)
  }

  #lose(why: string): void {
    this.#endWith('LOCK_LOST', why)
  }

  /** Only the first end counts. */
  #endWith(code: 'LOCK_LOST' | 'NOT_LOCKED', why: string): void {
    if (this.#end) return
    this.#end = [code, why]
    this.#cancelExpiry?.()
    this.#controller?.abort(this.#errorOf(this.#end))
  }

  #throwUnlessHeld(whyOver?: string): void {
    this.#loseIfOver(whyOver)
    if (this.#end) throw this.#errorOf(this.#end)
  }

  #errorOf([code, why]: End): LockError {
    return (this.#error ??= noLongerHeld(code, this.name, why))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => undefined)
    return turn
  }
}
