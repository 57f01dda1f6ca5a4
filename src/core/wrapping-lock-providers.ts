import { invalid } from './errors'
import { keepAlive, tellExtension } from './keep-alive'
import { checkListeners, type LockingTaskExecutorListener } from './listener'
import type {
  Duration,
  Lock,
  LockConfiguration,
  LockHolder,
  LockOptions,
  LockProvider,
  RefusalReason,
  ShutdownOptions,
} from './lock'
import { checkDuration, checkLockConfiguration, checkOptions, checkProvider } from './lock-configuration'
import { Lease, LONGEST_TIMEOUT, sleep, time } from './time'

/** A provider around another one. */
abstract class WrappingLockProvider implements LockProvider {
  /** @throws LockError `INVALID_CONFIGURATION` */
  constructor(protected readonly provider: LockProvider) {
    checkProvider(provider)
  }

  /** As the other provider's. */
  get description(): string | undefined {
    return this.provider.description
  }

  abstract lock(configuration: LockConfiguration, options?: LockOptions): Promise<Lock | undefined>

  /** As the other provider's `drain`. */
  async drain(options?: ShutdownOptions): Promise<void> {
    await this.provider.drain?.(options)
  }
}

/** Options of a `KeepAliveLockProvider`. */
export interface KeepAliveLockProviderOptions {
  /** Listeners to the extensions in the background; they hear `onLockExtended` and `onExtendFailed`. Default: none. */
  readonly listeners?:
    readonly Pick<LockingTaskExecutorListener, 'onLockExtended' | 'onExtendFailed'>[] | undefined
}

/**
 * Keeps every lock of another provider alive: extends it by its `lockAtMostFor` whenever less than half of that is left, until it
 * is unlocked or lost. An extension that fails is repeated until the lease is over. The lock's `signal` aborts when it is lost.
 * `lockAtLeastFor` still counts from the acquisition. For tasks of an executor use `keepAlive` instead, which can have a limit.
 */
export class KeepAliveLockProvider extends WrappingLockProvider {
  readonly #listeners: readonly LockingTaskExecutorListener[]

  /** @throws LockError `INVALID_CONFIGURATION` */
  constructor(provider: LockProvider, options: KeepAliveLockProviderOptions = {}) {
    super(provider)
    checkOptions(options, ['listeners'], 'keep-alive options')
    this.#listeners = checkListeners(options.listeners)
  }

  /** As the other provider's `lock`. */
  async lock(configuration: LockConfiguration, options?: LockOptions): Promise<Lock | undefined> {
    const checked = checkLockConfiguration(configuration)
    const lock = await this.provider.lock(checked, options)
    if (!lock) return undefined
    const event = { name: checked.name, configuration: checked }
    const extend = (lockAtMostFor: number) =>
      tellExtension(this.#listeners, event, () => lock.extend(lockAtMostFor))
    const cancel = keepAlive({ remaining: () => lock.remaining(), extend }, checked.lockAtMostFor)
    lock.signal.addEventListener('abort', cancel, { once: true })
    return lock
  }
}

/** Options of a `WaitingLockProvider`. */
export interface WaitingLockProviderOptions {
  /** For how long to retry while somebody else holds the lock. */
  readonly timeout: Duration
  /** The longest pause between two attempts; each lasts between half of it and all of it, at random. Default half a second. */
  readonly pause?: Duration | undefined
}

/**
 * Waits for a lock that somebody else holds, for tasks that should rather run late than be skipped: it tries again and again.
 * There is no queue: the first to try after the release acquires the lock.
 */
export class WaitingLockProvider extends WrappingLockProvider {
  readonly #timeout: number
  readonly #pause: number

  /** @throws LockError `INVALID_CONFIGURATION` */
  constructor(provider: LockProvider, options: WaitingLockProviderOptions) {
    super(provider)
    checkOptions(options, ['timeout', 'pause'], 'waiting options')
    const { timeout, pause = 500 } = options
    this.#timeout = checkDuration(undefined, 'timeout', timeout)
    this.#pause = Math.min(checkDuration(undefined, 'pause', pause), LONGEST_TIMEOUT)
    if (this.#pause === 0)
      throw invalid('pause is 0 – set it to at least a millisecond between two attempts.')
  }

  /**
   * @returns the lock, or `undefined` if somebody else held it until the timeout, or if its slot has run already
   * @throws LockError as the other provider does, at once; the reason of `signal`, as soon as it aborts
   */
  async lock(
    configuration: LockConfiguration,
    { signal, onRefused }: LockOptions = {},
  ): Promise<Lock | undefined> {
    let refusal: [reason: RefusalReason, holder?: LockHolder | undefined] = ['held']
    const attempt = (): Promise<Lock | undefined> => {
      refusal = ['held']
      return this.provider.lock(configuration, { signal, onRefused: (...refused) => (refusal = refused) })
    }
    const isFinal = (lock?: Lock): boolean => lock !== undefined || refusal[0] !== 'held'
    const lock = await poll(attempt, isFinal, { timeout: this.#timeout, pause: this.#pause, signal })
    if (!lock) onRefused?.(...refusal)
    return lock
  }
}

/**
 * Repeats an attempt until its outcome is final or the time is over. The pauses are random parts of `pause`. In milliseconds.
 *
 * @returns the last outcome
 * @throws what `attempt` throws, at once; the reason of `signal`, as soon as it aborts
 */
export async function poll<T>(
  attempt: () => Promise<T>,
  isFinal: (outcome: T) => boolean,
  { timeout, pause, signal }: { timeout: number; pause: number; signal?: AbortSignal | undefined },
): Promise<T> {
  const lease = new Lease(timeout)
  for (;;) {
    signal?.throwIfAborted()
    const outcome = await attempt()
    const left = lease.remaining()
    if (left === 0 || isFinal(outcome)) return outcome
    await sleep(Math.min(left, time.jittered(pause)), signal)
  }
}
