import type { Duration } from './duration'
import { LockError } from './errors'
import { Lease } from './lease'
import type { LockConfiguration, LockOptions, LockProvider, RefusalReason, SimpleLock } from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'
import { LONGEST_TIMEOUT } from './timers'

/** Options of a `WaitingLockProvider`. */
export interface WaitingLockProviderOptions {
  /** How long to go on asking for a lock that somebody else holds. */
  readonly timeout: Duration
  /** The longest pause between two attempts; each is a random part of it. Default half a second. */
  readonly pause?: Duration | undefined
}

/**
 * Waits for a lock that somebody else holds, for those who would rather be late than skip: asks another provider again and
 * again. There is no queue, so the first to ask after the lock was released gets it.
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
      throw new LockError(
        'INVALID_CONFIGURATION',
        'pause is 0 – give at least a millisecond between two attempts.',
      )
  }

  /**
   * @returns the lock, or `undefined` if somebody else held it until the timeout, or its slot was given already
   * @throws LockError as the other provider, at once; the reason of `signal`, as soon as it aborts
   */
  async lock(
    configuration: LockConfiguration,
    { signal, onRefused }: LockOptions = {},
  ): Promise<SimpleLock | undefined> {
    let reason = 'held' as RefusalReason
    const refused = (why: RefusalReason): void => {
      reason = why
    }
    const patience = new Lease(this.#timeout)
    for (;;) {
      signal?.throwIfAborted()
      const lock = await this.#provider.lock(configuration, { signal, onRefused: refused })
      if (lock) return lock
      const left = patience.remaining()
      if (left === 0 || reason === 'already-run') {
        onRefused?.(reason)
        return undefined
      }
      await sleep(Math.min(left, this.#pause * (0.5 + Math.random() / 2)), signal)
    }
  }
}

/** Not the one of `node:timers/promises`, which the fake timers of test runners do not replace. */
function sleep(pause: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const timer = setTimeout(wake, pause)
    signal?.addEventListener('abort', wake)
  })
}
