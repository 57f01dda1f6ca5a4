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

/** One test, for any test runner. */
export interface SuiteCase {
  /** What the provider must do. */
  readonly title: string
  /** Why the test cannot run here; `undefined` when it can. */
  readonly skip: string | undefined
  /**
   * How long the test may take, in milliseconds. Pass it to your runner: `test(title, run, timeLimit)` in Jest,
   * `{ timeout: timeLimit }` in `node:test`. Jest's default of 5 seconds is too short on a busy machine.
   */
  readonly timeLimit: number
  /** Runs the test. Rejects with an `AssertionError` if the provider does not do what the title says. */
  readonly run: () => Promise<void>
}

/** Options of the suites. */
export interface SuiteOptions {
  /** The `timeLimit` of each case. Default one minute. */
  readonly timeLimit?: Duration | undefined
}

/**
 * Returns the tests that every lock provider must pass, whatever its storage is. Use it if you write your own provider:
 *
 * ```ts
 * const cases = lockProviderSuite({ createProvider: () => new MyLockProvider(), isHeld: (name) => … })
 * for (const { title, skip, timeLimit, run } of cases)
 *   test(title, { skip: skip !== undefined, timeout: timeLimit }, run)
 * ```
 *
 * Each case uses its own lock names, so the cases may run in parallel.
 *
 * @throws LockError `INVALID_CONFIGURATION` for wrong options
 */
export function lockProviderSuite(environment: LockProviderEnvironment, options?: SuiteOptions): SuiteCase[] {
  const all = [creatingCases, extendingCases, leaseCases, slotCases, retryCases, fencingTokenCases, raceCases]
  return bind(all, [], environment, options)
}

/**
 * Returns the additional tests that a lock provider must pass if it keeps its locks in a table of a SQL database. The cases must not
 * run in parallel if the database has only one connection.
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

/** @param reasons why the environment omits members */
function bind<Environment extends object>(
  everywhere: readonly Cases<Environment>[],
  elsewhere: readonly CasesThatNeed<Environment>[],
  environment: Environment,
  options: SuiteOptions = {},
  reasons: Partial<Record<OptionalAbility<Environment>, string>> = {},
): SuiteCase[] {
  const { timeLimit = 60_000 } = checkOptions(options, { timeLimit: aDuration }, 'options of the suite')
  const reasonChecks = Object.fromEntries(elsewhere.map(({ needs }) => [needs, aString]))
  checkOptions(reasons, reasonChecks as OptionChecks<typeof reasons>, 'reasons of the environment')
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
