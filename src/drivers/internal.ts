/** What the other folders import from the drivers. */
export { drivers, mysqlLiteral, postgresCode } from './drivers'
export type { Driver } from './drivers'
export { sqlClient } from './sql-client'
export type { DriverClient, RunStatement } from './sql-client'
export { isNotPrepared, nameAmong } from './statement-names'
