import type { LockOptions, LockConfiguration, LockProvider, SimpleLock } from '../core'

/** A lock provider that is made when the application is there: at its start, or for a lock before. */
export class LateLockProvider implements LockProvider {
  readonly #make: () => LockProvider
  #made: LockProvider | undefined

  constructor(make: () => LockProvider) {
    this.#make = make
  }

  get made(): LockProvider {
    return (this.#made ??= this.#make())
  }

  async lock(configuration: LockConfiguration, options?: LockOptions): Promise<SimpleLock | undefined> {
    return this.made.lock(configuration, options)
  }
}
