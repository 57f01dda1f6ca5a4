import type { LockConfiguration, LockProvider, SimpleLock } from './lock'
import { checkLockConfiguration } from './lock-configuration'
import { spendableLock } from './spendable-lock'

/** Tells the time in milliseconds; only differences count. */
export interface Clock {
  /** Milliseconds since whenever, never fewer than at the call before. */
  now(): number
}

/** Looked up at each call, because the fake timers of test runners replace `performance`. */
const monotonicClock: Clock = { now: () => performance.now() }

interface HeldLock {
  readonly lockedAt: number
  lockUntil: number
}

/**
 * Keeps locks in this object, for unit tests and for apps of a single process: no lock outlives or leaves the process.
 * Share one provider among all that are to exclude each other.
 */
export class InMemoryLockProvider implements LockProvider {
  readonly #clock: Clock
  readonly #locks = new Map<string, HeldLock>()

  /** @param clock default: the monotonic clock, `performance` */
  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock
  }

  /**
   * @returns the lock, or `undefined` if it is held
   * @throws LockError `INVALID_CONFIGURATION`
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- a wrong configuration rejects, as with every provider
  async lock(configuration: LockConfiguration): Promise<SimpleLock | undefined> {
    const { name, lockAtMostFor, lockAtLeastFor } = checkLockConfiguration(configuration)
    if (this.isLocked(name)) return undefined
    const now = this.#clock.now()
    const held: HeldLock = { lockedAt: now, lockUntil: now + lockAtMostFor }
    this.#locks.set(name, held)
    return this.#lock(name, held, lockAtLeastFor)
  }

  /** Whether somebody holds the lock at this moment. */
  isLocked(name: string): boolean {
    const held = this.#locks.get(name)
    return held !== undefined && held.lockUntil > this.#clock.now()
  }

  /** Frees all locks, whoever holds them: for the time between two tests. */
  clear(): void {
    this.#locks.clear()
  }

  #lock(name: string, held: HeldLock, lockAtLeastFor: number): SimpleLock {
    const isMine = (): boolean => this.#locks.get(name) === held
    const lockUntil = held.lockUntil
    return spendableLock({
      name,
      remaining: () => Math.max(0, lockUntil - this.#clock.now()),
      // eslint-disable-next-line @typescript-eslint/require-await
      unlock: async () => {
        if (!isMine()) return
        held.lockUntil = Math.max(held.lockedAt + lockAtLeastFor, this.#clock.now())
        if (!this.isLocked(name)) this.#locks.delete(name)
      },
      // eslint-disable-next-line @typescript-eslint/require-await
      extend: async (lockAtMostFor, atLeastFromNow) => {
        if (!isMine() || !this.isLocked(name)) return undefined
        const now = this.#clock.now()
        held.lockUntil = now + lockAtMostFor
        return this.#lock(
          name,
          held,
          atLeastFromNow === undefined ? lockAtLeastFor : now - held.lockedAt + atLeastFromNow,
        )
      },
    })
  }
}
