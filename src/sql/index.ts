/**
 * The lock in SQL, for a client of your own: a dialect and a `SqlExecutor` (see `sqlExecutor` of `shedlock-orm/drivers`) make a
 * `LockProvider`.
 *
 * @module shedlock-orm/sql
 */
import { dialects as known, type DialectName } from './internal'

export { DriverError, guard, SqlLockProvider } from './internal'

/** The dialects by name. What a dialect contains is the package's own. */
export const dialects: Readonly<Record<DialectName, { readonly name: DialectName }>> = known
export type {
  Attempt,
  DialectName,
  LastRun,
  LockColumn,
  LockColumnNames,
  LockRecord,
  LockTableOptions,
  OverdueLock,
  OverdueOptions,
  PauseOptions,
  SeenLock,
  Sql,
  SqlExecutor,
  SqlLockProviderOptions,
  SqlRow,
  SqlValues,
  TableOperations,
  TableFinding,
  TableFindingCode,
} from './internal'
