/**
 * The database drivers: how each writes placeholders and reports errors; and `sqlExecutor`, which makes a `SqlExecutor` for any client
 * on top of one.
 *
 * @module shedlock-orm/drivers
 */
export { drivers } from './drivers'
export type { Driver } from './drivers'
export { sqlExecutor } from './sql-executor'
export type { Answer } from './sql-executor'

/** @internal for `shedlock-orm/prisma` */
export { mssqlCode, mysqlCode, postgresCode } from './drivers'
/** @internal for `shedlock-orm/typeorm` and `shedlock-orm/prisma` */
export { isNameRefused, NAME_REFUSED, nameAmong } from './sql-executor'
