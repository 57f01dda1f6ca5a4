/**
 * How each database driver writes placeholders and reports errors; and `sqlExecutor`, which creates a `SqlExecutor` for any client
 * on top of a driver.
 *
 * @module shedlock-orm/drivers
 */
export { drivers, sqlExecutor } from './internal'
export type { AsciiText, Driver, StatementResult } from './internal'
