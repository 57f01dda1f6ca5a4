import { inTime, LockError, sleep, time } from '../core/internal'
import { DriverError, isReadOnly, type Attempt, type SqlExecutor } from './sql-executor'

// One call to the database: its time limit, its retries, and what its errors mean.

/** One request to the database, with its retries. */
export interface DatabaseCall<T> {
  /** The lock that the request is for, to name it in an error. Default: the lock table. */
  readonly lockName?: string | undefined
  /** Sends the request once. */
  readonly attempt: (attempt: Attempt) => Promise<T>
  /** Whether executing the request twice has the same effect as once. It is then repeated even if it may have been executed. */
  readonly idempotent?: boolean
  /** What is left of the lock's lease, in milliseconds; when it is over, the call is useless. */
  readonly leaseLeft?: number
}

/** Server errors after which a statement is tried again because it was not executed: their native codes, with the reasons. */
export interface ErrorCodes {
  /** Another session was faster, or something is in the way, such as a lock on the table. */
  readonly transientErrors: Readonly<Record<string, string>>
  /** This server accepts no writes, or no statements at all. It is the wrong server, so the connection is not used again. */
  readonly readOnlyErrors: Readonly<Record<string, string>>
}

/** How the calls of one provider reach the database. */
export interface Database {
  readonly executor: SqlExecutor
  readonly dialect: ErrorCodes
  /** For one call, in milliseconds. */
  readonly timeLimit: number
  readonly abandonments: Abandonments
}

/**
 * Limits how many connections are closed because they gave no answer: twenty, and one more every five minutes. A server that is
 * alive but blocked, for example by a synchronous standby that is down, keeps a session for each of them, and may have room for
 * only a hundred.
 */
export class Abandonments {
  #count = 0
  #since = time.now()

  /** Returns whether one more connection may be closed, and counts it. */
  allow(): boolean {
    const now = time.now()
    this.#count = Math.max(0, this.#count - (now - this.#since) / 300_000)
    this.#since = now
    if (this.#count > 19) return false
    this.#count++
    return true
  }
}

const INTERVALS = { first: 2, longest: 100 }
/** A shorter attempt is useless. In milliseconds. */
const SHORTEST_ATTEMPT = 200

/** Returns for how many milliseconds a call may last. */
export function limitOf(
  { timeLimit }: Database,
  { leaseLeft = timeLimit }: Pick<DatabaseCall<unknown>, 'leaseLeft'>,
): number {
  return Math.min(timeLimit, leaseLeft)
}

/**
 * Repeats a call until it is answered, fails with an error that is not retried, or runs out of time. An idempotent call may be
 * repeated without an answer, so each attempt gets half of the remaining time, which leaves time for others on other connections.
 *
 * @param deadline on the monotonic clock
 * @throws LockError `TIMEOUT`, `DATABASE_ERROR`, or why the client is `unusable`; DriverError for a server error that is not
 *   retried
 */
export async function callDatabase<T>(
  database: Database,
  call: DatabaseCall<T>,
  deadline: number,
): Promise<T> {
  const { lockName, idempotent = false } = call
  let inTheWay: unknown
  for (let interval = INTERVALS.first; ; interval = Math.min(interval * 2, INTERVALS.longest)) {
    const left = deadline - time.now()
    const limit = Math.max(1, idempotent ? Math.min(left, Math.max(left / 2, SHORTEST_ATTEMPT)) : left)
    try {
      return await attemptWithin(limit, call, database.abandonments)
    } catch (error) {
      if (error instanceof LockError) throw withName(error, lockName)
      const kind = errorKind(database.dialect, error)
      if (kind === 'refused') throw error
      const unusable = kind === 'unanswered' && database.executor.unusable?.()
      if (unusable) throw new LockError(unusable.code, unusable.message, { lockName, cause: error })
      if (kind === 'transient' || kind === 'read-only') inTheWay = error
      const isRepeated = idempotent || kind !== 'unanswered'
      if (!isRepeated || time.now() + interval >= deadline) {
        if (kind === 'unanswered' && !(error instanceof NoAnswer)) throw databaseError(error, lockName)
        // The deadline may have cut the last attempt short, so report the error of an earlier one.
        const reported = inTheWay ?? error
        if (errorKind(database.dialect, reported) === 'read-only') throw readOnlyError(reported, lockName)
        const whole = limitOf(database, call)
        throw timeout(reported, lockName, whole, whole < database.timeLimit)
      }
    }
    await sleep(time.jittered(interval))
  }
}

/** Runs one attempt, and abandons it after `limit` milliseconds. @throws NoAnswer when it is abandoned */
async function attemptWithin<T>(
  limit: number,
  { attempt }: DatabaseCall<T>,
  abandonments: Abandonments,
): Promise<T> {
  const current = { isAbandoned: false, onAbandoned: undefined as (() => void) | undefined }
  try {
    return await inTime(
      attempt(current),
      limit,
      () => new NoAnswer(`no answer within ${Math.round(limit)} ms`),
    )
  } catch (error) {
    if (error instanceof NoAnswer) {
      current.isAbandoned = true
      if (current.onAbandoned && abandonments.allow()) current.onAbandoned()
    }
    throw error
  }
}

/** Thrown if no answer arrived in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** Thrown by an attempt if another session was faster. */
export class LostRace extends Error {
  override readonly name = 'LostRace'

  constructor() {
    super('another session was faster')
  }
}

/**
 * What an error means for its statement. `transient`: it changed nothing, and may be tried again. `read-only`: the same, but on
 * another connection. `unanswered`: it is unknown whether it was executed. `refused`: any other answer of the server.
 */
type ErrorKind = 'transient' | 'read-only' | 'unanswered' | 'refused'

export function errorKind({ transientErrors, readOnlyErrors }: ErrorCodes, error: unknown): ErrorKind {
  if (error instanceof LostRace) return 'transient'
  const { code } = driverErrorOf(error)
  if (code === undefined) return 'unanswered'
  if (isReadOnly(code, readOnlyErrors)) return 'read-only'
  return code in transientErrors ? 'transient' : 'refused'
}

/** Creates the error for a result without the number of changed rows. */
export function uncounted(): LockError {
  return new LockError(
    'INVALID_CLIENT',
    'This client does not report how many rows a statement changed, so it would be unknown whether a lock was acquired – use a client or a driver that does, and no trigger that returns rows.',
  )
}

/** Reads the number of changed rows. @throws LockError `INVALID_CLIENT` if the client did not report it */
export function changedRows(count: unknown): number {
  const changed = Number(count)
  if (Number.isSafeInteger(changed)) return changed
  throw uncounted()
}

/** Adds the name of the lock to an error that has none. */
export function withName(error: LockError, lockName: string | undefined): LockError {
  if (lockName === undefined || error.lockName !== undefined) return error
  return new LockError(error.code, error.message, { lockName, cause: error.cause })
}

const NO_ANSWER =
  'check whether the connection pool is exhausted (a lock needs a connection of its own besides those of open transactions), the database is blocked, or it is waiting for a synchronous standby that is down.'
const LEASE_IS_OVER = 'no more was left of its lease. Extend it earlier, or make lockAtMostFor longer.'

/** @param endsWithLease whether `limit`, in milliseconds, was what was left of the lease */
function timeout(error: unknown, lockName: string | undefined, limit: number, endsWithLease: boolean) {
  const what = `${subject(lockName)} within ${Math.round(limit)} ms`
  if (error instanceof NoAnswer) {
    const why = endsWithLease ? LEASE_IS_OVER : NO_ANSWER
    return new LockError('TIMEOUT', `The database did not answer a request for ${what} – ${why}`, {
      lockName,
      cause: error,
    })
  }
  const { message, cause } = driverErrorOf(error)
  return new LockError(
    'TIMEOUT',
    `The database was too busy to serve ${what}: ${message} – check whether its table is locked, or another transaction has locked its row.`,
    { lockName, cause },
  )
}

function readOnlyError(error: unknown, lockName: string | undefined): LockError {
  const { code, message, cause } = driverErrorOf(error)
  return new LockError(
    'DATABASE_ERROR',
    `This database server does not accept writes, so it cannot serve ${subject(lockName)}: ${message} (error ${code}) – it is a standby or a former primary. Make the pool connect to the primary.`,
    { lockName, cause },
  )
}

export function databaseError(error: unknown, lockName?: string): LockError {
  const { code, message, cause } = driverErrorOf(error)
  const what =
    code === undefined
      ? `The connection to the database failed during a statement for ${subject(lockName)}`
      : `The database answered a statement for ${subject(lockName)} with error ${code}`
  return new LockError('DATABASE_ERROR', `${what}: ${message}`, { lockName, cause })
}

function driverErrorOf(error: unknown): DriverError {
  return error instanceof DriverError ? error : new DriverError(undefined, error)
}

function subject(lockName: string | undefined): string {
  return lockName === undefined ? 'the lock table' : `lock '${lockName}'`
}
