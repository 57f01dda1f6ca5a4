/** What the other folders import from the lock in SQL. */
export { Attempt } from './calls'
export type { Dialect, DialectName } from './dialect'
export { dialectNamed, dialects } from './dialects'
export { guard, guardTransaction, rowOf } from './guard'
export { idleConnection } from './idle-connection'
export type { LockRow } from './lock-row'
export { printable, readableOwner } from './owner'
export type { LastRun, PauseOptions } from './owner'
export { describePlace, placeOf } from './place'
export type { Place } from './place'
export {
  checkOverdueAfter,
  displayedOwner,
  foreignClock,
  isHeldForEver,
  overdueLock,
  wasAcquired,
} from './records'
export type { LockRecord, OverdueLock, OverdueOptions } from './records'
export { parameter, raw, render, sql } from './sql'
export type { Sql, SqlValues } from './sql'
export { DriverError, NOT_PREPARED, NOT_REPLICATED } from './session'
export type { SqlClient, SqlRow, SqlSession, StatementResult } from './session'
export { SQL_LOCK_PROVIDER_OPTIONS, SqlLockProvider } from './sql-lock-provider'
export type { SeenLock, SqlLockProviderOptions } from './sql-lock-provider'
export { lockStatements } from './statements'
export type { TableFinding, TableFindingCode } from './table-check'
export { migrationScripts, tableDefinition } from './table-definition'
export { lockTableNames, TABLE_OPTIONS, tableSql } from './table-names'
export type { LockColumn, LockColumnNames, LockTableNames, LockTableOptions, TableSql } from './table-names'
