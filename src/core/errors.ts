/**
 * What went wrong, as a closed set that code can branch on. A lock that somebody else holds is not in it: that is
 * an ordinary outcome (`undefined` from a provider, `{ executed: false }` from an executor).
 *
 * - `INVALID_CONFIGURATION` a name, duration, identifier or option that can never work; thrown where it was given
 * - `INVALID_CLIENT` the ORM client cannot be used: not initialised, destroyed, a transaction, an unsupported database
 * - `TABLE_MISSING` there is no lock table: run the migration
 * - `TABLE_MISMATCH` the lock table lacks a column, or a column has a type that breaks the lock
 * - `TIMEOUT` the database or the connection pool did not answer in time; a lock that comes too late is released
 * - `DATABASE_ERROR` any other error of the database; `cause` has the driver's own
 * - `NOT_LOCKED` an assertion or an extension outside a locked task, or after the unlock
 * - `NOT_ACQUIRED` the lock is held elsewhere, and the caller asked for an error in that case
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
  | 'LOCK_LOST'
  | 'SHUTDOWN'

/** What an error knows beside its code and message. */
export interface LockErrorOptions {
  /** The lock that it happened to. */
  readonly lockName?: string | undefined
  /** The error underneath, such as the driver's own. */
  readonly cause?: unknown
}

/** The one error class of this library. `instanceof` knows those of every copy of the package in the process. */
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

/** For what can never work, refused where it is given. */
export function invalid(message: string, lockName?: string): LockError {
  return new LockError('INVALID_CONFIGURATION', message, { lockName })
}

/** For a client that cannot keep locks. */
export function invalidClient(message: string, lockName?: string): LockError {
  return new LockError('INVALID_CLIENT', message, { lockName })
}

/** Warns of what nobody else would hear of; changes no outcome. */
export function warn(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error))
  } catch {
    // Node.js takes only errors of its own realm. A test under Jest has another one.
    process.emitWarning(String(error))
  }
}

/**
 * A process may load this package more than once: as CommonJS and as ES modules, or two installed copies. What they share is
 * kept under a name. Another version may use it: if its shape changes, so must its name.
 */
export function sharedByEveryCopy<T>(name: string, make: () => T): T {
  const shared = globalThis as Record<symbol, T | undefined>
  return (shared[Symbol.for(`shedlock-orm.${name}`)] ??= make())
}

type AnyClass = abstract new (...parameters: never[]) => object

/** Makes `instanceof` of a class recognise the objects of every copy. A subclass recognises its own alone, as usual. */
export function recogniseEveryCopy(theClass: AnyClass, name: string): void {
  const mark = Symbol.for(`shedlock-orm.${name}`)
  Object.defineProperty(theClass.prototype, mark, { value: true })
  Object.defineProperty(theClass, Symbol.hasInstance, {
    value(this: AnyClass, value: unknown) {
      return this === theClass
        ? typeof value === 'object' && value !== null && mark in value
        : Function.prototype[Symbol.hasInstance].call(this, value)
    },
  })
}
