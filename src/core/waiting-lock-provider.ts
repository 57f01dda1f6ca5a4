import { LONGEST_TIMEOUT } from './alarm'
import type { Duration } from './duration'
import { LockError } from './errors'
import { Lease } from './lease'
import type { LockConfiguration, LockProvider, SimpleLock } from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'

/** Options of a `WaitingLockProvider`. */
export interface WaitingLockProviderOptions {
  /** How long to go on asking for a lock that somebody else holds. */
  readonly timeout: Duration
  /** The longest pause between two questions; they are spread at random below it. Default half a second. */
  readonly pause?: Duration | undefined
}

/**
 * Waits for a lock that somebody else holds, for those who would rather be late than skip: asks another provider again and
 * again. There is no queue, so whoever asks first after the lock was freed gets it.
 */
export class WaitingLockProvider implements LockProvider {
  readonly #provider: LockProvider
  readonly #timeout: number
  readonly #pause: number

  /** @throws LockError `INVALID_CONFIGURATION` */
  constructor(provider: LockProvider, { timeout, pause = 500, ...unknown }: WaitingLockProviderOptions) {
    checkProvider(provider)
    checkOptions(unknown, [], 'waiting options')
    this.#provider = provider
    this.#timeout = checkDuration(undefined, 'timeout', timeout)
    this.#pause = Math.min(checkDuration(undefined, 'pause', pause), LONGEST_TIMEOUT)
    if (this.#pause === 0)
      throw new LockError('INVALID_CONFIGURATION', 'pause is 0 – leave the database a moment.')
  }

  /**
   * @returns the lock, or `undefined` if somebody else held it until the timeout
   * @throws LockError as the other provider, at once
   */
  async lock(configuration: LockConfiguration): Promise<SimpleLock | undefined> {
    const patience = new Lease(this.#timeout)
    for (;;) {
      const lock = await this.#provider.lock(configuration)
      const left = patience.remaining()
      if (lock || left === 0) return lock
      await sleep(Math.min(left, this.#pause * (0.5 + Math.random() / 2)))
    }
  }
}

/** Not the one of `node:timers/promises`, which the fake timers of test runners do not replace. */
function sleep(pause: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pause))
}
