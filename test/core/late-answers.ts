import { simpleLock, type LockConfiguration, type LockProvider, type SimpleLock } from '../../src/core'

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
    let latest = lock
    return simpleLock(lock.name, {
      lease: lock,
      unlock: () => latest.unlock(),
      extend: async (lockAtMostFor, lockAtLeastFor) => {
        const longer = await latest.extend(lockAtMostFor, lockAtLeastFor)
        if (longer) latest = longer
        await new Promise((resolve) => setTimeout(resolve, this.#lateBy))
        return longer
      },
    })
  }
}
