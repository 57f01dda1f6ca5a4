import { LockError } from '../core'
import type { Dialect } from './dialect'
import { DriverError } from './statement'

// What a failed call of the database says, and what its caller is told.

/** Thrown where nothing was heard in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** Thrown by an attempt when somebody else was faster. */
export class LostRace extends Error {
  override readonly name = 'LostRace'

  constructor() {
    super('others were faster')
  }
}

/**
 * What an error says about its statement. `transient`: it changed nothing, and may be tried again. `unanswered`: nobody knows
 * what became of it. `refused`: every other answer of the server.
 */
type ErrorKind = 'transient' | 'unanswered' | 'refused'

export function errorKind({ transientErrors }: Dialect, error: unknown): ErrorKind {
  if (error instanceof LostRace) return 'transient'
  const { code } = driverErrorOf(error)
  if (code === undefined) return 'unanswered'
  return code in transientErrors ? 'transient' : 'refused'
}

/** For an answer that does not tell what became of a statement. */
export function untold(): LockError {
  return new LockError(
    'INVALID_CLIENT',
    'This client does not tell how many rows a statement changed, so nobody would know whether a lock was acquired – use a client or a driver that does, and no trigger that returns rows.',
  )
}

/** The same error with the name of its lock. */
export function withName(error: LockError, lockName: string | undefined): LockError {
  if (lockName === undefined || error.lockName !== undefined) return error
  return new LockError(error.code, error.message, { lockName, cause: error.cause })
}

const NO_ANSWER =
  'check whether the connection pool is exhausted (a lock needs a connection besides those of open transactions), or the database is blocked.'
const LEASE_IS_OVER =
  'that was all that was left of its lease. Extend it earlier, or make lockAtMostFor longer.'

/** @param endsWithLease whether `limit` was what was left of the lease, in milliseconds */
export function timeout(error: unknown, lockName: string | undefined, limit: number, endsWithLease: boolean) {
  const what = `${subject(lockName)} within ${Math.round(limit)} ms`
  if (error instanceof NoAnswer) {
    const why = endsWithLease ? LEASE_IS_OVER : NO_ANSWER
    return new LockError('TIMEOUT', `The database did not answer about ${what} – ${why}`, {
      lockName,
      cause: error,
    })
  }
  const { message, cause } = driverErrorOf(error)
  return new LockError(
    'TIMEOUT',
    `The database was too busy to serve ${what}: ${message} – check whether its table is locked, or another transaction keeps its row.`,
    { lockName, cause },
  )
}

export function databaseError(error: unknown, lockName?: string): LockError {
  const { code, message, cause } = driverErrorOf(error)
  const what =
    code === undefined
      ? `The connection to the database failed at a statement for ${subject(lockName)}`
      : `The database answered a statement for ${subject(lockName)} with error ${code}`
  return new LockError('DATABASE_ERROR', `${what}: ${message}`, { lockName, cause })
}

function driverErrorOf(error: unknown): DriverError {
  return error instanceof DriverError ? error : new DriverError(undefined, error)
}

function subject(lockName: string | undefined): string {
  return lockName === undefined ? 'the lock table' : `lock '${lockName}'`
}
