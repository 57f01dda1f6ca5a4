import {
  type LeaderCallbacks,
  leaderElection,
  type LeaderElection,
  type LeaderElectionConfiguration,
} from '../core/internal'
import { noSuchProvider } from './lock-providers'
import type { ShedLockLifecycle } from './shed-lock-lifecycle'

/** The configuration of `leaderElection`, plus the lock provider to use. */
export interface LeaderElectionsConfiguration extends LeaderElectionConfiguration {
  /** A key of the module's `lockProviders`. Default: its `lockProvider`. */
  readonly provider?: string | undefined
}

/**
 * The leader elections of one Nest application, which end at its shutdown. Inject this class and call `join` in
 * `onApplicationBootstrap`.
 */
export class LeaderElections {
  /** @internal `ShedLockModule` creates the only instance. */
  constructor(private readonly lifecycle: ShedLockLifecycle) {}

  /**
   * Makes this process a candidate, as `leaderElection` does, until the application shuts down.
   *
   * @returns the election, with `isLeader()` and `shutdown()`
   * @throws LockError `INVALID_CONFIGURATION`, also if the module has no such lock provider
   */
  join(configuration: LeaderElectionsConfiguration, callbacks: LeaderCallbacks): LeaderElection {
    const { options, providers, elections } = this.lifecycle
    const { provider: key, listeners = options.listeners, ...rest } = configuration
    const provider = providers.get(key)
    if (!provider) throw noSuchProvider(key, rest.name)
    const election = leaderElection(provider, { ...rest, listeners }, callbacks)
    elections.push(election)
    return election
  }
}
