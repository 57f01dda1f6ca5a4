import { createLock, Lease, type Lock, type LockConfiguration, type LockProvider } from '../../src/core'

/** Another provider, whose answer to an extension comes late. */
export class LateAnswers implements LockProvider {
  readonly #provider: LockProvider
  readonly #lateBy: number

  constructor(provider: LockProvider, lateBy: number) {
    this.#provider = provider
    this.#lateBy = lateBy
  }

  async lock(configuration: LockConfiguration): Promise<Lock | undefined> {
    const lock = await this.#provider.lock(configuration)
    return lock && this.#wrap(lock)
  }

  #wrap(lock: Lock): Lock {
    return createLock(lock.name, {
      // The inner lock knows of an extension before its answer is heard.
      lease: new Lease(lock.remaining()),
      unlock: () => lock.unlock(),
      extend: async (lockAtMostFor, lockAtLeastFor) => {
        await lock.extend(lockAtMostFor, lockAtLeastFor)
        const longer = new Lease(lock.remaining())
        await new Promise((resolve) => setTimeout(resolve, this.#lateBy))
        return longer
      },
    })
  }
}
