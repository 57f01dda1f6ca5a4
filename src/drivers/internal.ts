/** What the other folders import from the drivers. */
export { drivers, mssqlCode, mysqlCode, mysqlLiteral, postgresCode } from './drivers'
export type { AsciiText, Driver } from './drivers'
export { isNameRefused, NAME_REFUSED, nameAmong, sqlExecutor } from './sql-executor'
export type { StatementResult } from './sql-executor'
