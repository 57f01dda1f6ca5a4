import { LockingTaskExecutor, type LockProvider } from '../../src/core'

/** Multi-tenancy: each tenant has a database of its own, with its own lock table, so the same lock name is free in each. */
export class TenantExecutors {
  readonly #createProvider: (tenant: string) => LockProvider
  readonly #executors = new Map<string, LockingTaskExecutor>()

  constructor(createProvider: (tenant: string) => LockProvider) {
    this.#createProvider = createProvider
  }

  of(tenant: string): LockingTaskExecutor {
    const known = this.#executors.get(tenant)
    if (known) return known
    const executor = new LockingTaskExecutor(this.#createProvider(tenant), { defaultLockAtMostFor: '10m' })
    this.#executors.set(tenant, executor)
    return executor
  }

  async shutdown(): Promise<void> {
    await Promise.all([...this.#executors.values()].map((executor) => executor.shutdown()))
  }
}
