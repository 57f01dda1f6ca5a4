import { recogniseEveryCopy } from './copies'
import { describeSkip, type Skip } from './lock'

/**
 * What went wrong: a closed set of codes to branch on. A lock that is already held is not an error but an ordinary result
 * (`undefined` from a provider, `{ executed: false }` from an executor).
 *
 * - `INVALID_CONFIGURATION` a name, duration, identifier or option can never work; thrown as soon as it is passed
 * - `INVALID_CLIENT` the client cannot be used: it is not initialised, was destroyed, is a transaction, or its database is not
 *   supported
 * - `TABLE_MISSING` the lock table does not exist: run the migration
 * - `TABLE_MISMATCH` the lock table lacks a column or a unique key, or a column has a type that breaks the lock
 * - `TIMEOUT` the database or the connection pool did not answer in time; a lock that is acquired too late is released
 * - `DATABASE_ERROR` any other database error; `cause` is the driver's own error
 * - `NOT_LOCKED` a lock was asserted, extended or used outside its task, or after its release
 * - `SKIPPED` the task was skipped because the lock was not acquired, and the caller asked for an error in that case
 * - `LOCK_LOST` the lease is over, or an extension was refused: another instance may hold the lock now
 * - `SHUTDOWN` the task must stop, or was skipped, because the executor is shutting down
 */
export type LockErrorCode =
  | 'INVALID_CONFIGURATION'
  | 'INVALID_CLIENT'
  | 'TABLE_MISSING'
  | 'TABLE_MISMATCH'
  | 'TIMEOUT'
  | 'DATABASE_ERROR'
  | 'NOT_LOCKED'
  | 'SKIPPED'
  | 'LOCK_LOST'
  | 'SHUTDOWN'

/** The only error class of this library. `instanceof` also recognises errors that another copy of the package created. */
export class LockError extends Error {
  static {
    recogniseEveryCopy(this, 'LockError')
  }

  override readonly name = 'LockError'
  /** What went wrong: a code to branch on. */
  readonly code: LockErrorCode
  /** The name of the lock that the error is about; `undefined` if it is not about a single lock. */
  readonly lockName: string | undefined
  /** @internal For the command line, which names its options differently. */
  readonly option: string | undefined

  /**
   * @param options the name of the lock that the error is about, the underlying error, such as the driver's own, and the option that
   *   is wrong, as code names it
   */
  constructor(
    code: LockErrorCode,
    message: string,
    options: {
      readonly lockName?: string | undefined
      readonly cause?: unknown
      /** @internal */
      readonly option?: string | undefined
    } = {},
  ) {
    // Not destructured above: the declarations that are published do not have `option`.
    const { lockName, cause, option } = options
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.lockName = lockName
    this.option = option
  }
}

/** Creates the error for a configuration that can never work. */
export function configurationError(message: string, lockName?: string, option?: string): LockError {
  return new LockError('INVALID_CONFIGURATION', message, { lockName, option })
}

/** Names an option as the subject of an error message. */
export function optionOf(option: string, lockName: string | undefined): string {
  return lockName === undefined ? option : `${option} of lock '${lockName}'`
}

/** Such as a line break, a zero-width space or half a surrogate pair: two different strings could look the same. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Makes a string safe to show. Other programs write into the table as well, and what they wrote must not control a terminal, begin a
 * new line, reverse the text beside it, or be invisible. The escapes are those of JSON, so that a JSON parser restores the same value.
 */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (character) =>
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Creates the error for a client that cannot keep locks. */
export function clientError(message: string, lockName?: string): LockError {
  return new LockError('INVALID_CLIENT', message, { lockName })
}

/** Follows what is wrong with a client that may be the mock of a test. */
export const FOR_MOCKS =
  'In a test whose client is a mock, use InMemoryLockProvider; in NestJS, override SHED_LOCK_OPTIONS.'

/** Creates the error for a task that must stop, or must not start, because of a shutdown. */
export function shutdownError(lockName: string): LockError {
  return new LockError(
    'SHUTDOWN',
    `The executor is shutting down – the task of lock '${lockName}' must stop.`,
    { lockName },
  )
}

/** Creates the error for a skip, for callers that ask for one. */
export function skipError(skip: Skip & { readonly name: string }): LockError {
  const { name: lockName, reason } = skip
  if (reason === 'shutdown') return shutdownError(lockName)
  const message = `Lock '${lockName}' ${describeSkip(skip)} – the task was skipped.`
  return new LockError('SKIPPED', message, { lockName })
}

/** What is said of a lock whose release has failed. */
export const UNRELEASED = 'could not be released yet; it expires at the end of its lease at the latest'

/**
 * Creates the error for a lock that could not be released. It names the lock and what follows, because the cause may be the end of the
 * app's client, which mentions neither.
 */
export function unreleasedError(lockName: string, cause: unknown): LockError {
  const code = cause instanceof LockError ? cause.code : 'DATABASE_ERROR'
  const why = cause instanceof Error ? cause.message : String(cause)
  const message = `Lock '${lockName}' ${UNRELEASED}: ${why}`
  return new LockError(code, message, { lockName, cause })
}

/** Emits a process warning for an error that would otherwise go unnoticed; changes no outcome. */
export function warn(error: unknown): void {
  try {
    process.emitWarning(error instanceof Error ? error : String(error))
  } catch {
    // Node.js accepts only errors of its own realm, and tests under Jest run in another one.
    process.emitWarning(String(error))
  }
}

/** Returns the code of an error or the name of its class: one of few words, and never its message, which may contain secrets. */
export function errorName(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  if (typeof code === 'string' && /^[\w.-]{1,40}$/.test(code)) return code
  if (!(error instanceof Error)) return '_OTHER'
  return name === 'Error' ? error.constructor.name : error.name
}
