/**
 * How each database driver writes placeholders and reports errors; and `sqlClient`, which creates a `SqlClient` for any client on
 * top of a driver.
 *
 * @module shedlock-orm/drivers
 */
export { drivers, sqlClient } from './internal'
export type { Driver, DriverClient, DriverSession, RunStatement } from './internal'
