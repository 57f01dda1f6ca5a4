import { checkListeners, notify, type LockingTaskExecutorListener } from './listener'
import type { LockConfiguration, LockOptions, LockProvider, SimpleLock } from './lock'
import { checkLockConfiguration, checkOptions, checkProvider } from './lock-configuration'
import { heldLockOf, simpleLockOf } from './simple-lock'

/** Options of a `KeepAliveLockProvider`. */
export interface KeepAliveLockProviderOptions {
  /** Hear `onLockExtended` and `onExtendFailed` of the extensions made in the background. */
  readonly listeners?:
    readonly Pick<LockingTaskExecutorListener, 'onLockExtended' | 'onExtendFailed'>[] | undefined
}

/**
 * Keeps every lock of another provider alive: extends it by its `lockAtMostFor` whenever half of the lease is over, until
 * it is unlocked or lost. An extension that gets no answer is tried again until the lease is over. The lock's `signal`
 * aborts when it is lost. `lockAtLeastFor` stands as it was given, counted from the acquisition.
 *
 * A lock that is extended by hand is kept alive with that length from then on. For single tasks of an executor there is
 * `keepAlive: true`.
 */
export class KeepAliveLockProvider implements LockProvider {
  readonly #provider: LockProvider
  readonly #listeners: readonly LockingTaskExecutorListener[]

  /** @throws LockError `INVALID_CONFIGURATION` */
  constructor(provider: LockProvider, options: KeepAliveLockProviderOptions = {}) {
    checkProvider(provider)
    checkOptions(options, ['listeners'], 'keep-alive options')
    this.#provider = provider
    this.#listeners = checkListeners(options.listeners)
  }

  /** As the other provider's `lock`. */
  async lock(configuration: LockConfiguration, options?: LockOptions): Promise<SimpleLock | undefined> {
    const checked = checkLockConfiguration(configuration)
    const event = { name: checked.name, configuration: checked }
    const lock = await this.#provider.lock(checked, options)
    if (!lock) return undefined
    const held = heldLockOf(lock)
    held.observe({
      onExtended: () => {
        notify(this.#listeners, 'onLockExtended', event)
      },
      onExtendFailed: (error) => {
        notify(this.#listeners, 'onExtendFailed', { ...event, error })
      },
    })
    held.keepAlive(checked.lockAtMostFor)
    return simpleLockOf(held)
  }
}
