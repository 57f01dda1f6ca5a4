import { creatingCases } from './creating-cases'
import { extendingCases } from './extending-cases'
import { fencingTokenCases, sqlFencingTokenCases } from './fencing-token-cases'
import { fuzzCases, sqlFuzzCases } from './fuzz-cases'
import { leaseCases, sqlLeaseCases } from './lease-cases'
import type { LockProviderEnvironment, SqlLockProviderEnvironment } from './lock-provider-environment'
import { nameCases } from './name-cases'
import { ownershipCases } from './ownership-cases'
import { slotCases } from './slot-cases'
import { slotRaceCases } from './slot-race-cases'
import { bindCases, type SuiteCase, type SuiteOptions } from './suite-case'
import { tableCases } from './table-cases'
import { timeZoneCases } from './time-zone-cases'
import { transactionCases } from './transaction-cases'

/**
 * What every lock provider has to keep, whatever it stores its locks in: for those who write one.
 *
 * ```ts
 * const cases = lockProviderSuite({ createProvider: () => new MyLockProvider(), isHeld: (name) => … })
 * for (const { title, skip, timeLimit, run } of cases)
 *   test(title, { skip: skip !== undefined, timeout: timeLimit }, run)
 * ```
 *
 * Each case uses lock names of its own, so that they may run side by side.
 *
 * @throws LockError `INVALID_CONFIGURATION` for wrong options
 */
export function lockProviderSuite(environment: LockProviderEnvironment, options?: SuiteOptions): SuiteCase[] {
  return bindCases(
    [
      ...creatingCases,
      ...extendingCases,
      ...leaseCases,
      ...ownershipCases,
      ...nameCases,
      ...slotCases,
      ...fencingTokenCases,
      ...fuzzCases,
      ...slotRaceCases,
    ],
    environment,
    options,
  )
}

/**
 * What a lock provider has to keep besides when it stores its locks in a table of an SQL database. Cases must not run
 * side by side where the database has only one connection.
 */
export function sqlLockProviderSuite(
  environment: SqlLockProviderEnvironment,
  options?: SuiteOptions,
): SuiteCase[] {
  return bindCases(
    [
      ...tableCases,
      ...sqlLeaseCases,
      ...sqlFencingTokenCases,
      ...timeZoneCases,
      ...transactionCases,
      ...sqlFuzzCases,
    ],
    environment,
    options,
    environment.reasons,
  )
}
