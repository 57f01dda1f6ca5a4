import {
  leaderElection,
  LockError,
  type Duration,
  type LeaderCallbacks,
  type LeaderElection,
  type LeaderElectionConfiguration,
} from '../core'
import type { LockProviders } from './lock-providers'
import type { ShedLockModuleOptions } from './shed-lock-module-options'

/** As of `leaderElection`, and where the lock is. */
export interface LeaderElectionsConfiguration extends LeaderElectionConfiguration {
  /** A key of the module's `lockProviders`. Default: its `lockProvider`. */
  readonly provider?: string | undefined
}

/** Elections of one Nest application, which gives way at its shutdown. Inject it, and call `stand` in `onApplicationBootstrap`. */
export class LeaderElections {
  readonly #elections: LeaderElection[] = []

  /** @internal The module makes it. */
  constructor(
    private readonly options: ShedLockModuleOptions,
    private readonly providers: LockProviders,
  ) {}

  /**
   * Stands for leader, as `leaderElection` does, until the application shuts down.
   *
   * @throws LockError `INVALID_CONFIGURATION`
   */
  stand(configuration: LeaderElectionsConfiguration, callbacks: LeaderCallbacks): LeaderElection {
    const { provider: key, ...rest } = configuration
    const { listeners } = this.options
    const provider = this.providers.get(key)
    if (!provider)
      throw new LockError(
        'INVALID_CONFIGURATION',
        `There is no lock provider '${key}' – add it to lockProviders of ShedLockModule.forRoot.`,
      )
    const election = leaderElection(provider, { listeners, ...rest }, callbacks)
    this.#elections.push(election)
    return election
  }

  /** @internal Nest calls it; each later hook would be too late: TypeORM closes its pool in `onApplicationShutdown`. */
  async beforeApplicationShutdown(): Promise<void> {
    const timeout: Duration | undefined = this.options.shutdownTimeout
    await Promise.all(this.#elections.map((election) => election.stop({ timeout })))
  }
}
