import {
  LockProvider,
  type Acquisition,
  type CheckedLockConfiguration,
  type Refusal,
} from '../../src/core/internal'

/** Another provider, whose answer to an extension comes late. */
export class LateAnswers extends LockProvider {
  readonly #provider: LockProvider
  readonly #lateBy: number

  constructor(provider: LockProvider, lateBy: number) {
    super()
    this.#provider = provider
    this.#lateBy = lateBy
  }

  async acquire(configuration: CheckedLockConfiguration): Promise<Acquisition | Refusal> {
    const acquired = await this.#provider.acquire(configuration)
    if ('reason' in acquired) return acquired
    return {
      lease: acquired.lease,
      unlock: (outcome) => acquired.unlock(outcome),
      extend: async (...durations) => {
        const longer = await acquired.extend(...durations)
        await new Promise((resolve) => setTimeout(resolve, this.#lateBy))
        return longer
      },
    }
  }
}
