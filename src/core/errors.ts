import { recogniseEveryCopy } from './every-copy'

/**
 * What went wrong, as a closed set that code can branch on. A lock that somebody else holds is not in it: that is
 * an ordinary outcome (`undefined` from a provider, `{ executed: false }` from an executor).
 *
 * - `INVALID_CONFIGURATION` a name, duration, identifier or option that can never work; thrown where it was given
 * - `INVALID_CLIENT` the ORM client cannot be used: not initialised, destroyed, a transaction, an unsupported database
 * - `TABLE_MISSING` there is no lock table: run the migration
 * - `TABLE_MISMATCH` the lock table lacks a column, or a column has a type that breaks the lock
 * - `TIMEOUT` the database or the connection pool did not answer in time; a lock that comes too late is given back
 * - `DATABASE_ERROR` any other error of the database; `cause` has the driver's own
 * - `NOT_LOCKED` an assertion or an extension outside a locked task
 * - `NOT_ACQUIRED` the lock is held elsewhere, and the caller asked for an error in that case
 * - `LOCK_SPENT` a lock object was used again after its `unlock` or `extend`
 * - `LOCK_LOST` the lease is over, or an extension was refused: somebody else may hold the lock now
 * - `SHUTDOWN` the task is asked to stop because the process shuts down
 */
export type LockErrorCode =
  | 'INVALID_CONFIGURATION'
  | 'INVALID_CLIENT'
  | 'TABLE_MISSING'
  | 'TABLE_MISMATCH'
  | 'TIMEOUT'
  | 'DATABASE_ERROR'
  | 'NOT_LOCKED'
  | 'NOT_ACQUIRED'
  | 'LOCK_SPENT'
  | 'LOCK_LOST'
  | 'SHUTDOWN'

/** What an error knows beside its code and message. */
export interface LockErrorOptions {
  /** The lock that it happened to. */
  readonly lockName?: string | undefined
  /** The error underneath, such as the driver's own. */
  readonly cause?: unknown
}

/**
 * The one error class of this library. Branch on `code`; `cause` keeps the error underneath. `instanceof` knows those of
 * every copy of the package in the process, CommonJS or ES module.
 */
export class LockError extends Error {
  static {
    recogniseEveryCopy(this, 'LockError')
  }

  override readonly name = 'LockError'
  /** What went wrong, to branch on. */
  readonly code: LockErrorCode
  /** The lock that it happened to, where there is one. */
  readonly lockName: string | undefined

  constructor(code: LockErrorCode, message: string, { lockName, cause }: LockErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.lockName = lockName
  }
}
