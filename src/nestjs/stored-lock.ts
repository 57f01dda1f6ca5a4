import { Lease, LockError, whenOver, type heldLockOf } from '../core'

/** A lock from its acquisition to its end. */
export type HeldLock = ReturnType<typeof heldLockOf>

/** @internal A lock that is renewed and released by its key and owner. Its expiry may move back too, which a lease does not. */
export class StoredLock {
  readonly #held: HeldLock
  #cancelEnd: (() => void) | undefined
  #ended = false

  constructor(held: HeldLock) {
    this.#held = held
  }

  async renew(ttl: number): Promise<boolean> {
    if (!this.#isLive()) return false
    try {
      await this.#held.extend(ttl)
    } catch (error) {
      if (isOver(error)) return false
      throw error
    }
    this.#endAfter(ttl)
    return true
  }

  async release(): Promise<boolean> {
    const wasLive = this.#isLive()
    this.#cancelEnd?.()
    await this.#held.end()
    return wasLive
  }

  #isLive(): boolean {
    return !this.#ended && this.#held.remaining() > 0
  }

  /** If the row was acquired for longer than its owner wants it now, it is released then. */
  #endAfter(ttl: number): void {
    this.#cancelEnd?.()
    if (this.#held.remaining() <= ttl) return
    const wanted = new Lease(ttl)
    this.#cancelEnd = whenOver(
      () => wanted.remaining(),
      () => {
        this.#ended = true
        // It expires later, then.
        this.#held.end().catch(() => undefined)
      },
    )
  }
}

/** Whether an error says that the lock is not its holder's any more. */
export function isOver(error: unknown): boolean {
  return error instanceof LockError && (error.code === 'LOCK_LOST' || error.code === 'NOT_LOCKED')
}
