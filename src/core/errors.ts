import { recogniseEveryCopy } from './copies'
import { describeSkip, type Skip } from './lock'

/**
 * What went wrong: a closed set of codes to branch on. A lock that somebody else holds is not an error but an ordinary
 * outcome (`undefined` from a provider, `{ executed: false }` from an executor).
 *
 * - `INVALID_CONFIGURATION` a name, duration, identifier or option can never work; thrown as soon as it is passed
 * - `INVALID_CLIENT` the client cannot be used: it is not initialised, was destroyed, is a transaction, or its database is
 *   not supported
 * - `TABLE_MISSING` there is no lock table: run the migration
 * - `TABLE_MISMATCH` the lock table lacks a column or a unique key, or a column has a type that breaks the lock
 * - `TIMEOUT` the database or the connection pool did not answer in time; a lock that is acquired too late is released
 * - `DATABASE_ERROR` any other error of the database; `cause` is the driver's own error
 * - `NOT_LOCKED` a lock was asserted, extended or used outside its task, or after the unlock
 * - `NOT_ACQUIRED` the lock was not acquired and the task was skipped, and the caller wanted an error for that
 * - `LOCK_LOST` the lease is over, or an extension was refused: somebody else may hold the lock now
 * - `SHUTDOWN` the task must stop, or was skipped, because the executor shuts down
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
  | 'LOCK_LOST'
  | 'SHUTDOWN'

/** What a `LockError` carries besides its code and message. */
export interface LockErrorOptions {
  /** The name of the lock that the error is about. */
  readonly lockName?: string | undefined
  /** The underlying error, such as the driver's own. */
  readonly cause?: unknown
}

/** The one error class of this library. `instanceof` recognises the errors of every copy of the package in the process. */
export class LockError extends Error {
  static {
    recogniseEveryCopy(this, 'LockError')
  }

  override readonly name = 'LockError'
  /** What went wrong: a code to branch on. */
  readonly code: LockErrorCode
  /** The name of the lock that the error is about; `undefined` where it is about no single lock. */
  readonly lockName: string | undefined

  constructor(code: LockErrorCode, message: string, { lockName, cause }: LockErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.lockName = lockName
  }
}

/** The error for a configuration that can never work. */
export function invalid(message: string, lockName?: string): LockError {
  return new LockError('INVALID_CONFIGURATION', message, { lockName })
}

/** An option as the subject of a message. */
export function optionOf(lockName: string | undefined, option: string): string {
  return lockName === undefined ? option : `${option} of lock '${lockName}'`
}

/** The error for a client that cannot keep locks. */
export function invalidClient(message: string, lockName?: string): LockError {
  return new LockError('INVALID_CLIENT', message, { lockName })
}

/** The error for a lock that its holder has no more. */
export function noLongerHeld(
  code: 'LOCK_LOST' | 'NOT_LOCKED',
  lockName: string,
  why: string,
  cause?: unknown,
): LockError {
  return new LockError(code, `Lock '${lockName}' can no longer be trusted: ${why}.`, { lockName, cause })
}

/** The error for a task that has to stop, or does not begin. */
export function shutdownError(lockName: string): LockError {
  return new LockError('SHUTDOWN', `The executor shuts down – the task of lock '${lockName}' must stop.`, {
    lockName,
  })
}

/** The error for a skip, for callers who want one. */
export function skipError(skip: Skip & { readonly name: string }): LockError {
  const { name: lockName, reason } = skip
  if (reason === 'shutdown') return shutdownError(lockName)
  const message = `Lock '${lockName}' ${describeSkip(skip)} – the task was skipped.`
  return new LockError('NOT_ACQUIRED', message, { lockName })
}

/** Emits a process warning for an error that nobody would hear of otherwise; changes no outcome. */
export function warn(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error))
  } catch {
    // Node.js accepts errors of its own realm only, and a test under Jest runs in another.
    process.emitWarning(String(error))
  }
}
