import { databaseClockCases } from './database-clock-cases'
import type { SqlCases, SqlLockProviderEnvironment } from './sql-environment'
import { tableCases } from './table-cases'
import { timeZoneCases } from './time-zone-cases'
import { transactionCases } from './transaction-cases'

/** One test, as in the suite for every storage, but it may be skipped. */
export interface SqlSuiteCase {
  readonly title: string
  /** Why the test cannot run here. */
  readonly skip?: string | undefined
  readonly run: () => Promise<void>
}

/**
 * Returns what a provider for SQL must do, beyond what every provider must. The cases must not run in parallel if the database has
 * only one connection.
 */
export function sqlLockProviderSuite(environment: SqlLockProviderEnvironment): SqlSuiteCase[] {
  const bound = (cases: SqlCases, skip?: string): SqlSuiteCase[] =>
    Object.entries(cases).map(([title, run]) => ({ title, skip, run: () => run(environment) }))
  return [
    ...[tableCases, databaseClockCases].flatMap((cases) => bound(cases)),
    ...[timeZoneCases, ...transactionCases].flatMap(({ needs, cases }) =>
      bound(cases, environment.reasons[needs]),
    ),
  ]
}
