/**
 * For a lock provider of your own, over a storage that is no SQL database: what checks a configuration, counts a lease, and
 * makes a lock of three functions.
 *
 * @module shedlock-orm/storage
 */
export {
  checkDuration,
  checkLockConfiguration,
  checkLockName,
  checkOptions,
  later,
  Lease,
  LONGEST_TIMEOUT,
  milliseconds,
  simpleLock,
  slotTooFarAhead,
} from '../core'
export type { Acquisition, CheckedLockConfiguration, Clock } from '../core'
