/**
 * The lock in SQL, for a client of your own: a dialect and a `SqlExecutor` (`sqlExecutor` of `shedlock-orm/drivers`) are a
 * `LockProvider`.
 *
 * @module shedlock-orm/sql
 */
export type { DialectName, LockColumn, LockColumnNames, LockTableOptions } from './dialect'
export { dialects } from './dialects'
export { executeOnce } from './execute-once'
export type { ExecuteOnceConfiguration } from './execute-once'
export { guard } from './guard'
export type { LastRun, PauseOptions } from './owner'
export type { LockRecord, OverdueLock, OverdueOptions } from './records'
export { SqlLockProvider } from './sql-lock-provider'
export type { SqlLockProviderOptions } from './sql-lock-provider'
export type { Row, SqlExecutor, Statement, Values } from './statement'
export type { TableFinding, TableFindingCode } from './table-check'

/** @internal for the drivers, the ORMs, the command line and the page: what other folders of ours use */
export type { Dialect, LockTable, LockTableNames } from './dialect'
/** @internal */
export { dialectNamed } from './dialects'
/** @internal */
export { idleConnection } from './idle-connection'
/** @internal */
export type { SqlAcquisition } from './lock-rows'
/** @internal */
export { printable, readableOwner } from './owner'
/** @internal */
export { checkLimits, foreignClock, isHeldForEver, overdueLock, wasAcquired } from './records'
/** @internal */
export { guardTransaction, sqlAcquisition } from './guard'
/** @internal */
export { SQL_LOCK_PROVIDER_OPTIONS } from './sql-lock-provider'
/** @internal */
export { DriverError, parameter, raw, render, sql } from './statement'
/** @internal */
export { lockStatements } from './statements'
/** @internal */
export { lockTable, lockTableNames, migrationScripts, TABLE_OPTIONS, tableDefinition } from './table'
