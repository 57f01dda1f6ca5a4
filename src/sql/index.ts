/**
 * The lock in SQL, for a client of your own: a dialect and a `SqlExecutor` (see `sqlExecutor` of `shedlock-orm/drivers`) make a
 * `LockProvider`.
 *
 * @module shedlock-orm/sql
 */
export { dialects, DriverError, guard, SqlLockProvider } from './internal'
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
