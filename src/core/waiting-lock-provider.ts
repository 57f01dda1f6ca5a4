import { askAgain } from './ask-again'
import type { Duration } from './duration'
import { LockError } from './errors'
import type {
  LockConfiguration,
  LockHolder,
  LockOptions,
  LockProvider,
  RefusalReason,
  SimpleLock,
} from './lock'
import { checkDuration, checkOptions, checkProvider } from './lock-configuration'
import { LONGEST_TIMEOUT } from './time'

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
    let holder: LockHolder | undefined
    const ask = async (): Promise<SimpleLock | RefusalReason> => {
      let reason: RefusalReason = 'held'
      const refused = (why: RefusalReason, by?: LockHolder): void => {
        reason = why
        holder = by
      }
      return (await this.#provider.lock(configuration, { signal, onRefused: refused })) ?? reason
    }
    const patience = { timeout: this.#timeout, pause: this.#pause, signal }
    const answer = await askAgain(ask, (each) => each !== 'held', patience)
    if (typeof answer !== 'string') return answer
    onRefused?.(answer, holder)
    return undefined
  }
}
