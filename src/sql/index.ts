/**
 * The lock in SQL, for a client of your own: a dialect and a `SqlClient` (see `sqlClient` of `shedlock-orm/drivers`) make a
 * `LockProvider`.
 *
 * @module shedlock-orm/sql
 */
import { dialects as known, type DialectName } from './internal'

export { DriverError, guard, SqlLockProvider } from './internal'

/** The dialects by name. What a dialect contains is the package's own. */
export const dialects: Readonly<Record<DialectName, { readonly name: DialectName }>> = known
export type {
  DialectName,
  LastRun,
  LockRecord,
  LockTableOptions,
  JobState,
  JobView,
  Sql,
  SqlClient,
  SqlLockProviderOptions,
  SqlSession,
  SqlValues,
  StatementResult,
  TableOperations,
  TableFinding,
} from './internal'
