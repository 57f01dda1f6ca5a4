/**
 * The lock in SQL, for a client of your own: a dialect and a `SqlExecutor` (`sqlExecutor` of `shedlock-orm/drivers`) are a
 * `LockProvider`.
 *
 * @module shedlock-orm/sql
 */
export { idleConnection } from './idle-connection'
export { dialects } from './dialects'
export type {
  AcquireStep,
  Claim,
  AcquireOutcome,
  Dialect,
  DialectName,
  Inspection,
  LockColumn,
  LockStatementForm,
  Pin,
  Setting,
} from './dialect'
export { tableDefinition } from './create-table'
export type { TableDefinition } from './create-table'
export { executeOnce } from './execute-once'
export type { ExecuteOnceConfiguration } from './execute-once'
export { guardTransaction, sqlAcquisition } from './guard-transaction'
export type { LockRecord } from './lock-record'
export type { Holder } from './holder'
export { lockStatements } from './lock-statements'
export type { LockStatements } from './lock-statements'
export { lockTable, lockTableNames, TABLE_OPTIONS } from './lock-table'
export type { Identifiers, LockColumnNames, LockTable, LockTableNames, LockTableOptions } from './lock-table'
export { migrationScripts } from './migration-script'
export type { MigrationScripts } from './migration-script'
export { DriverError } from './sql-executor'
export type { Row, SqlExecutor } from './sql-executor'
export type { SqlAcquisition } from './sql-acquisition'
export type { OverdueLock } from './overdue'
export type { PauseOptions } from './pause'
export { SQL_LOCK_PROVIDER_OPTIONS, SqlLockProvider } from './sql-lock-provider'
export type { SqlLockProviderOptions } from './sql-lock-provider'
export { tableProblem } from './table-check'
export type { TableFinding, TableFindingCode } from './table-finding'
export { parameter, raw, spell, speller, sql } from './statement'
export type { Spelled, Statement, Values } from './statement'

/** @internal for the command line */
export { readableOwner } from './owner'
/** @internal for the command line */
export { wasTaken } from './overdue'
/** @internal for `shedlock-orm/typeorm` and `shedlock-orm/prisma` */
export { dialectNamed } from './dialects'
