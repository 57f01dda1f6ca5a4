/**
 * The lock in SQL, for a client of your own: a dialect and a `SqlClient` (see `sqlClient` of `shedlock-orm/drivers`) make a
 * `LockProvider`.
 *
 * @module shedlock-orm/sql
 */
export { dialects, DriverError, guard, SqlLockProvider } from './internal'
export type {
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
  SqlClient,
  SqlLockProviderOptions,
  SqlRow,
  SqlSession,
  SqlValues,
  StatementResult,
  TableFinding,
  TableFindingCode,
} from './internal'
