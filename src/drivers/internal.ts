/** What the other folders import from the drivers. */
export { mysqlLiteral, postgresCode } from '../sql/internal'
export type { Driver } from '../sql/internal'
export { drivers } from './drivers'
export { readSockets, sqlClient } from './sql-client'
export type { DriverClient, RunStatement } from './sql-client'
export { isNotPrepared, nameAmong } from './statement-names'
