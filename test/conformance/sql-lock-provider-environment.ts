import type { LockProvider } from '../../src/core/lock-provider'
import type { LockTableOptions } from '../../src/sql/names'
import type { LockProviderEnvironment } from '../../src/testing/expectations'
import type { Counter } from '../../src/testing/race-cases'
import type { observeLockTable } from './lock-table-observer'
import type { ClientTransaction } from './sql-environment'

/** An open transaction of the app, on the same client that `provider` uses. */
export interface CallerTransaction extends Omit<ClientTransaction, 'query'> {
  /** Returns whether other sessions can see what the transaction wrote. */
  isVisible(): Promise<boolean>
}

/** What the cases for SQL need. */
export interface SqlLockProviderEnvironment
  extends LockProviderEnvironment, Omit<ReturnType<typeof observeLockTable>, 'isHeld'> {
  /** Why some members cannot be called: the reasons with which their cases are skipped. */
  readonly reasons: Partial<Record<Ability, string>>
  /** Creates a counter that starts at 0, in a row of its own. Reading and writing it are deliberately separate statements. */
  createCounter(): Promise<Counter>
  /** Returns an environment for the same database with a different, new lock table. */
  withTable(names: LockTableOptions): Promise<SqlLockProviderEnvironment>

  /** Creates a provider whose sessions have this time zone, such as `America/New_York`. */
  createProviderInTimeZone(zone: string): Promise<LockProvider>
  /** Begins a transaction and reads in it, so that its snapshot and its time are fixed. */
  beginTransaction(): Promise<CallerTransaction>
  /** Begins a transaction, and reads and writes in it. */
  beginWritingTransaction(): Promise<CallerTransaction>
}

/** The members that not every client and database has. */
export type Ability = 'createProviderInTimeZone' | 'beginTransaction' | 'beginWritingTransaction'

/** The tests of one topic, by title. */
export type SqlCases = Readonly<Record<string, (environment: SqlLockProviderEnvironment) => Promise<void>>>

/** Cases that are skipped where the member that they need cannot be called. */
export interface CasesThatNeed {
  readonly needs: Ability
  readonly cases: SqlCases
}
