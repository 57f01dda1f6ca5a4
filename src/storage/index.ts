/**
 * For a lock provider of your own, over a storage that is not a SQL database: functions that check a configuration, count a
 * lease, and make a lock of what the storage does.
 *
 * @module shedlock-orm/storage
 */
export { checkLockConfiguration, createLock, later, Lease, slotTooFarAhead, tokenOfRetry } from '../core'
export type { Acquisition, CheckedLockConfiguration, Clock } from '../core'
