import { randomUUID } from 'node:crypto'
import { Module, type DynamicModule, type OnModuleDestroy } from '@nestjs/common'
import type { ShedLockStore } from 'shedlock-orm/nestjs'

/** Of `@nestjs/locks` as much as this example uses, made after its documentation, for where the package is not installed. */
const TTL = 6_000

export class LocksStorage {
  static source: ShedLockStore | undefined

  registerSource(source: ShedLockStore): void {
    LocksStorage.source = source
    console.log(`LocksStorage: ${source.constructor.name}`)
  }
}

/** The lease of a job: its instance keeps it while it is up. */
class JobLease {
  static readonly all = new Set<JobLease>()
  readonly #owner = randomUUID()
  #renewing: NodeJS.Timeout | undefined

  constructor(private readonly key: string) {
    JobLease.all.add(this)
  }

  async isOurs(): Promise<boolean> {
    if (this.#renewing) return true
    const result = await LocksStorage.source?.acquire(this.key, this.#owner, TTL)
    if (!result?.acquired) return false
    this.#renewing = setInterval(() => void this.#renew(), TTL / 3)
    return true
  }

  async release(): Promise<void> {
    clearInterval(this.#renewing)
    await LocksStorage.source?.release(this.key, this.#owner)
  }

  async #renew(): Promise<void> {
    const isOurs = await LocksStorage.source?.renew(this.key, this.#owner, TTL).catch(() => false)
    if (isOurs) return
    clearInterval(this.#renewing)
    this.#renewing = undefined
  }
}

export function OnOneInstance({ key }: { key: string }) {
  const lease = new JobLease(`${key}:owner`)
  return (_target: object, _name: string, descriptor: TypedPropertyDescriptor<() => Promise<void>>): void => {
    const method = descriptor.value
    descriptor.value = async function () {
      if (await lease.isOurs()) await method?.call(this)
    }
  }
}

@Module({})
export class LocksModule implements OnModuleDestroy {
  static forRoot(): DynamicModule {
    return { module: LocksModule, global: true, providers: [LocksStorage], exports: [LocksStorage] }
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...JobLease.all].map((lease) => lease.release()))
  }
}
