/** What the other folders import from the lock in SQL. */
export type { SqlAcquisition } from './acquisition'
export type { Dialect, DialectName } from './dialect'
export { dialectNamed, dialects } from './dialects'
export { guard, guardTransaction, sqlAcquisition } from './guard'
export { idleConnection } from './idle-connection'
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
export { checkWritable, DriverError, isReadOnly } from './sql-executor'
export type { Attempt, SqlExecutor, SqlRow } from './sql-executor'
export { SQL_LOCK_PROVIDER_OPTIONS, SqlLockProvider } from './sql-lock-provider'
export type { SeenLock, SqlLockProviderOptions } from './sql-lock-provider'
export { lockStatements } from './statements'
export type { TableFinding, TableFindingCode } from './table-check'
export { migrationScripts, tableDefinition } from './table-definition'
export { lockTableNames, TABLE_OPTIONS, tableSql } from './table-names'
export type { LockColumn, LockColumnNames, LockTableNames, LockTableOptions, TableSql } from './table-names'
