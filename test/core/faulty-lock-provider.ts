import { createLock, type Lock, type LockConfiguration, type LockProvider } from '../../src/core'

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

  async lock(configuration: LockConfiguration): Promise<Lock | undefined> {
    await this.#step('lock')
    const lock = await this.#provider.lock(configuration)
    return lock && this.#wrap(lock)
  }

  #wrap(lock: Lock): Lock {
    return createLock(lock.name, {
      lease: lock,
      unlock: async (outcome) => {
        await this.#step('unlock')
        await lock.unlock({ outcome })
      },
      extend: async (lockAtMostFor, lockAtLeastFor) => {
        await this.#step('extend')
        return this.refusesExtensions ? undefined : await lock.extend(lockAtMostFor, lockAtLeastFor)
      },
    })
  }

  async #step(step: Step): Promise<void> {
    this.calls.push(step)
    await this.gate
    if (step in this.faults) throw this.faults[step]
  }
}
