import { spendableLock, type LockConfiguration, type LockProvider, type SimpleLock } from '../../src/core'

/** Another provider, whose answer to an extension comes late. */
export class LateAnswers implements LockProvider {
  readonly #provider: LockProvider
  readonly #lateBy: number

  constructor(provider: LockProvider, lateBy: number) {
    this.#provider = provider
    this.#lateBy = lateBy
  }

  async lock(configuration: LockConfiguration): Promise<SimpleLock | undefined> {
    const lock = await this.#provider.lock(configuration)
    return lock && this.#wrap(lock)
  }

  #wrap(lock: SimpleLock): SimpleLock {
    return spendableLock({
      name: lock.name,
      remaining: () => lock.remaining(),
      unlock: () => lock.unlock(),
      extend: async (lockAtMostFor, lockAtLeastFor) => {
        const longer = await lock.extend(lockAtMostFor, lockAtLeastFor)
        await new Promise((resolve) => setTimeout(resolve, this.#lateBy))
        return longer && this.#wrap(longer)
      },
    })
  }
}
