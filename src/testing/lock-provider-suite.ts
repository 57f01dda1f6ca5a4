import { aDuration, checkOptions, type Duration } from '../core/internal'
import { exclusionCases } from './exclusion-cases'
import { extendingCases } from './extending-cases'
import { fencingTokenCases } from './fencing-token-cases'
import { leaseCases } from './lease-cases'
import type { Cases, LockProviderEnvironment } from './lock-provider-environment'
import { ownershipCases } from './ownership-cases'
import { raceCases } from './race-cases'
import { retryCases } from './retry-cases'
import { slotCases } from './slot-cases'

/** One test, for any test runner. */
export interface SuiteCase {
  /** What the provider must do. */
  readonly title: string
  /**
   * How long the test may take, in milliseconds. Pass it to your runner: `test(title, run, timeLimit)` in Jest,
   * `{ timeout: timeLimit }` in `node:test`. Jest's default of 5 seconds is too short on a busy machine.
   */
  readonly timeLimit: number
  /** Runs the test. Rejects with an `AssertionError` if the provider does not do what the title says. */
  readonly run: () => Promise<void>
}

/**
 * Returns the tests that every lock provider must pass, whatever its storage is. Use it if you write your own provider:
 *
 * ```ts
 * const cases = lockProviderSuite({ createProvider: () => new MyLockProvider(), isHeld: (name) => … })
 * for (const { title, timeLimit, run } of cases) test(title, { timeout: timeLimit }, run)
 * ```
 *
 * Each case uses its own lock names, so the cases may run in parallel.
 *
 * @throws LockError `INVALID_CONFIGURATION` for wrong options
 */
export function lockProviderSuite(
  environment: LockProviderEnvironment,
  options: {
    /** The `timeLimit` of each case. Default one minute. */
    readonly timeLimit?: Duration | undefined
  } = {},
): SuiteCase[] {
  const { timeLimit = 60_000 } = checkOptions(options, { timeLimit: aDuration }, 'options of the suite')
  const cases: Cases = {
    ...exclusionCases,
    ...ownershipCases,
    ...leaseCases,
    ...extendingCases,
    ...slotCases,
    ...retryCases,
    ...fencingTokenCases,
    ...raceCases,
  }
  return Object.entries(cases).map(([title, run]) => ({ title, timeLimit, run: () => run(environment) }))
}
