import { creatingCases } from './creating-cases'
import { extendingCases } from './extending-cases'
import { fuzzCases, sqlFuzzCases } from './fuzz-cases'
import { leaseCases, sqlLeaseCases } from './lease-cases'
import type { LockProviderEnvironment, SqlLockProviderEnvironment } from './lock-provider-environment'
import { nameCases } from './name-cases'
import { ownershipCases } from './ownership-cases'
import { bindCases, type SuiteCase } from './suite-case'
import { tableCases } from './table-cases'
import { timeZoneCases } from './time-zone-cases'
import { transactionCases } from './transaction-cases'

/**
 * What every lock provider has to keep, whatever it stores its locks in: for those who write one.
 *
 * ```ts
 * const cases = lockProviderSuite({ createProvider: () => new MyLockProvider(), isHeld: (name) => … })
 * for (const { title, skip, run } of cases) test(title, { skip: skip !== undefined }, run)
 * ```
 *
 * Each case uses lock names of its own, so that they may run side by side.
 */
export function lockProviderSuite(environment: LockProviderEnvironment): SuiteCase[] {
  return bindCases(
    [...creatingCases, ...extendingCases, ...leaseCases, ...ownershipCases, ...nameCases, ...fuzzCases],
    environment,
  )
}

/**
 * What a lock provider has to keep besides when it stores its locks in a table of an SQL database. Cases must not run
 * side by side where the database has only one connection.
 */
export function sqlLockProviderSuite(environment: SqlLockProviderEnvironment): SuiteCase[] {
  return bindCases(
    [...tableCases, ...sqlLeaseCases, ...timeZoneCases, ...transactionCases, ...sqlFuzzCases],
    environment,
    environment.reasons,
  )
}
