import { simpleLock, type LockConfiguration, type LockProvider, type SimpleLock } from '../../src/core'

type Step = 'lock' | 'extend' | 'unlock'

/** Another provider whose steps fail when told to. */
export class FaultyLockProvider implements LockProvider {
  readonly calls: Step[] = []
  /** What the steps throw; a step that is not here goes through. */
  readonly faults: Partial<Record<Step, unknown>> = {}
  /** Makes the next extensions be refused. */
  refusesExtensions = false
  /** Is awaited before each step. */
  gate: Promise<unknown> = Promise.resolve()
  readonly #provider: LockProvider

  constructor(provider: LockProvider) {
    this.#provider = provider
  }

  async lock(configuration: LockConfiguration): Promise<SimpleLock | undefined> {
    await this.#step('lock')
    const lock = await this.#provider.lock(configuration)
    return lock && this.#wrap(lock)
  }

  #wrap(lock: SimpleLock): SimpleLock {
    let latest = lock
    return simpleLock(lock.name, {
      lease: lock,
      unlock: async (early) => {
        await this.#step('unlock')
        if (early) latest = (await latest.extend(1, 0)) ?? latest
        await latest.unlock()
      },
      extend: async (lockAtMostFor, lockAtLeastFor) => {
        await this.#step('extend')
        const longer = this.refusesExtensions ? undefined : await latest.extend(lockAtMostFor, lockAtLeastFor)
        if (longer) latest = longer
        return longer
      },
    })
  }

  async #step(step: Step): Promise<void> {
    this.calls.push(step)
    await this.gate
    if (step in this.faults) throw this.faults[step]
  }
}
