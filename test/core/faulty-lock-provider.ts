import type { Acquisition, CheckedLockConfiguration, Refusal } from '../../src/core/lock'
import { LockProvider } from '../../src/core/lock-provider'

type Step = 'lock' | 'extend' | 'unlock'

/** Another provider whose steps fail when told to. */
export class FaultyLockProvider extends LockProvider {
  readonly calls: Step[] = []
  /** What the steps throw; a step that is not here goes through. */
  readonly faults: Partial<Record<Step, unknown>> = {}
  /** Makes the next extensions be refused. */
  refusesExtensions = false
  /** Milliseconds that the answer to an extension takes. */
  lateBy = 0
  /** Is awaited before each step. */
  gate: Promise<unknown> = Promise.resolve()
  readonly #provider: LockProvider

  constructor(provider: LockProvider) {
    super()
    this.#provider = provider
  }

  async acquire(configuration: CheckedLockConfiguration): Promise<Acquisition | Refusal> {
    await this.#step('lock')
    const acquired = await this.#provider.acquire(configuration)
    if ('reason' in acquired) return acquired
    return {
      lease: acquired.lease,
      unlock: async (outcome) => {
        await this.#step('unlock')
        await acquired.unlock(outcome)
      },
      extend: async (...durations) => {
        await this.#step('extend')
        const longer = this.refusesExtensions ? undefined : await acquired.extend(...durations)
        if (this.lateBy > 0) await new Promise((resolve) => setTimeout(resolve, this.lateBy))
        return longer
      },
    }
  }

  async #step(step: Step): Promise<void> {
    // On virtual time, a caller that never pauses would keep its test from ending.
    if (this.calls.push(step) > 100) await new Promise(() => undefined)
    await this.gate
    if (step in this.faults) throw this.faults[step]
  }
}
