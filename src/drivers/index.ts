/**
 * The database drivers: how each writes placeholders and reports errors; and `sqlExecutor`, which makes a `SqlExecutor` for any client
 * on top of one.
 *
 * @module shedlock-orm/drivers
 */
export { drivers, sqlExecutor } from './internal'
export type { Driver, StatementResult } from './internal'
