import { Logger } from '@nestjs/common'
import {
  type LeaderCallbacks,
  leaderElection,
  type LeaderElection,
  type LeaderElectionConfiguration,
} from '../core'
import { noSuchProvider, type LockProviders } from './lock-providers'
import type { ShedLockModuleOptions } from './shed-lock-module-options'

/** The configuration of `leaderElection`, and the lock provider to use. */
export interface LeaderElectionsConfiguration extends LeaderElectionConfiguration {
  /** A key of the module's `lockProviders`. Default: its `lockProvider`. */
  readonly provider?: string | undefined
}

/** The elections of one Nest application, which end at its shutdown. Inject this class, and call `join` in `onApplicationBootstrap`. */
export class LeaderElections {
  readonly #logger = new Logger('ShedLock')
  readonly #elections: { readonly name: string; readonly election: LeaderElection }[] = []

  /** @internal The module makes it. */
  constructor(
    private readonly options: ShedLockModuleOptions,
    private readonly providers: LockProviders,
  ) {}

  /**
   * Makes this process a candidate, as `leaderElection` does, until the application shuts down.
   *
   * @returns the election, with `isLeader()` and `stop()`
   * @throws LockError `INVALID_CONFIGURATION`, also when there is no such lock provider
   */
  join(configuration: LeaderElectionsConfiguration, callbacks: LeaderCallbacks): LeaderElection {
    const { provider: key, ...rest } = configuration
    const provider = this.providers.get(key)
    if (!provider) throw noSuchProvider(key, rest.name)
    const election = leaderElection(provider, { listeners: this.options.listeners, ...rest }, callbacks)
    this.#elections.push({ name: rest.name, election })
    return election
  }

  /** @internal Nest calls it; each later hook would be too late: TypeORM closes its pool in `onApplicationShutdown`. */
  async beforeApplicationShutdown(): Promise<void> {
    const timeout = this.options.shutdownTimeout
    const stopped = this.#elections.map(async ({ name, election }) =>
      (await election.stop({ timeout })) ? [] : [name],
    )
    const late = (await Promise.all(stopped)).flat()
    if (late.length > 0)
      this.#logger.warn(
        `Leaders did not step down within the shutdown timeout, and hold their locks until they do: ${late.join(', ')}`,
      )
  }
}
