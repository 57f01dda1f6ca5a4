/**
 * For a lock provider of your own, over a storage that is no SQL database: what checks a configuration, counts a lease, and
 * makes a lock of three functions.
 *
 * @module shedlock-orm/storage
 */
export { checkLockConfiguration, createLock, later, Lease, slotTooFarAhead, tokenOfRetry } from '../core'
export type { Acquisition, CheckedLockConfiguration, Clock } from '../core'
