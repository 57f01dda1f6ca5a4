import { LockError } from './errors'
import type { HeldLock } from './held-lock'
import type { ActiveLock, LockConfiguration, LockOptions, LockProvider, SimpleLock } from './lock'
import { checkProvider } from './lock-configuration'
import { heldLockOf, simpleLockOf } from './simple-lock'

/**
 * Knows which locks of another provider this process holds, and can release them all at shutdown: for those who use a
 * provider without an executor. An executor has `shutdown()`, which also stops its tasks and waits for them.
 */
export class TrackingLockProvider implements LockProvider {
  readonly #provider: LockProvider
  readonly #held = new Set<HeldLock>()

  /** @throws LockError `INVALID_CONFIGURATION` */
  constructor(provider: LockProvider) {
    checkProvider(provider)
    this.#provider = provider
  }

  /** As the other provider's `lock`. */
  async lock(configuration: LockConfiguration, options?: LockOptions): Promise<SimpleLock | undefined> {
    const lock = await this.#provider.lock(configuration, options)
    if (!lock) return undefined
    const held = heldLockOf(lock)
    const forget = (): void => {
      this.#held.delete(held)
    }
    // An expired lock is not held.
    if (held.remaining() > 0) this.#held.add(held)
    held.observe({ onLost: forget, onEnded: forget })
    return simpleLockOf(held)
  }

  /** The locks that this process holds now, each with its lease as the last extension left it. */
  get activeLocks(): readonly ActiveLock[] {
    return [...this.#held]
  }

  /**
   * Unlocks all that is held, as each lock's own `unlock` would. Whoever works under one of them finds it lost: `signal`
   * aborts with `SHUTDOWN`, `extend` gives `undefined`, and `unlock` has nothing left to do.
   *
   * @throws AggregateError of what went wrong, after all were tried; a lock that could not be released expires
   */
  async releaseAll(): Promise<void> {
    const outcomes = await Promise.allSettled(
      [...this.#held].map((held) => {
        held.abort(new LockError('SHUTDOWN', `Lock '${held.name}' was released.`, { lockName: held.name }))
        return held.end()
      }),
    )
    const errors = outcomes.flatMap((outcome): unknown[] =>
      outcome.status === 'rejected' ? [outcome.reason] : [],
    )
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} locks could not be released.`)
  }
}
