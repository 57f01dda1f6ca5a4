import { aDuration, aString, checkOptions, type Duration, type OptionChecks } from '../core/internal'
import { creatingCases } from './creating-cases'
import { extendingCases } from './extending-cases'
import { fencingTokenCases, sqlFencingTokenCases } from './fencing-token-cases'
import { lastRunCases } from './last-run-cases'
import { leaseCases, sqlLeaseCases } from './lease-cases'
import type {
  Cases,
  CasesThatNeed,
  LockProviderEnvironment,
  OptionalAbility,
  SqlLockProviderEnvironment,
} from './lock-provider-environment'
import { raceCases, sqlRaceCases, transactionRaceCases } from './race-cases'
import { retryCases } from './retry-cases'
import { slotCases } from './slot-cases'
import { tableCases, tableNameCases } from './table-cases'
import { summerTimeCases, timeZoneCases } from './time-zone-cases'
import { transactionCases } from './transaction-cases'

/** One test, for whichever test runner you use. */
export interface SuiteCase {
  /** What the provider has to do. */
  readonly title: string
  /** Why the test cannot run here; `undefined` when it can. */
  readonly skip: string | undefined
  /**
   * How many milliseconds the test may last, for your runner: `test(title, run, timeLimit)` in Jest, `{ timeout: timeLimit }` in
   * `node:test`. Jest's own limit of 5 seconds is too short on a busy machine.
   */
  readonly timeLimit: number
  /** Runs the test; rejects with an `AssertionError` when the provider does something else. */
  readonly run: () => Promise<void>
}

/** Options of the suites. */
export interface SuiteOptions {
  /** How long each case may last: its `timeLimit`. Default one minute. */
  readonly timeLimit?: Duration | undefined
}

/**
 * Makes the tests that every lock provider has to pass, wherever it keeps its locks: for those who write one.
 *
 * ```ts
 * const cases = lockProviderSuite({ createProvider: () => new MyLockProvider(), isHeld: (name) => … })
 * for (const { title, skip, timeLimit, run } of cases)
 *   test(title, { skip: skip !== undefined, timeout: timeLimit }, run)
 * ```
 *
 * Each case uses lock names of its own, so the cases may run side by side.
 *
 * @throws LockError `INVALID_CONFIGURATION` for wrong options
 */
export function lockProviderSuite(environment: LockProviderEnvironment, options?: SuiteOptions): SuiteCase[] {
  const all = [creatingCases, extendingCases, leaseCases, slotCases, retryCases, fencingTokenCases, raceCases]
  return bind(all, [], environment, options)
}

/**
 * Makes the further tests that a lock provider has to pass when it keeps its locks in a table of a SQL database. The cases must not run
 * side by side where the database has only one connection.
 *
 * @throws LockError `INVALID_CONFIGURATION` for wrong options
 */
export function sqlLockProviderSuite(
  environment: SqlLockProviderEnvironment,
  options?: SuiteOptions,
): SuiteCase[] {
  const all = [tableCases, sqlLeaseCases, lastRunCases, sqlFencingTokenCases, sqlRaceCases]
  const some = [tableNameCases, timeZoneCases, summerTimeCases, ...transactionCases, transactionRaceCases]
  return bind(all, some, environment, options, environment.reasons)
}

/** @param reasons why the environment lacks an ability */
function bind<Environment extends object>(
  everywhere: readonly Cases<Environment>[],
  elsewhere: readonly CasesThatNeed<Environment>[],
  environment: Environment,
  options: SuiteOptions = {},
  reasons: Partial<Record<OptionalAbility<Environment>, string>> = {},
): SuiteCase[] {
  const { timeLimit = 60_000 } = checkOptions(options, { timeLimit: aDuration }, 'options of the suite')
  const abilities = Object.fromEntries(elsewhere.map(({ needs }) => [needs, aString]))
  checkOptions(reasons, abilities as OptionChecks<typeof reasons>, 'reasons of the environment')
  const bound = (cases: Cases<Environment>, skip?: string): SuiteCase[] =>
    Object.entries(cases).map(([title, run]) => ({
      title,
      skip,
      timeLimit,
      run: () => run(environment as Required<Environment>),
    }))
  return [
    ...everywhere.flatMap((cases) => bound(cases)),
    ...elsewhere.flatMap(({ needs, cases }) => {
      const has = environment[needs] !== undefined
      return bound(cases, has ? undefined : (reasons[needs] ?? `the environment has no ${needs}`))
    }),
  ]
}
