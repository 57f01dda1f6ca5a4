import { inTime, LockError, sleep, time } from '../core/internal'
import { DriverError, isReadOnly, type Attempt, type SqlExecutor } from './sql-executor'

// One call of the database: its time limit, its repeats, and what an error means.

/** One request to the database, with its repeats. */
export interface DatabaseCall<T> {
  /** The lock that it is about, for the message of an error. Default: the lock table. */
  readonly lockName?: string | undefined
  /** Sends it once. */
  readonly attempt: (attempt: Attempt) => Promise<T>
  /** Executed twice it changes no more: it is repeated even if nobody knows whether it was executed. */
  readonly idempotent?: boolean
  /** What is left of the lock's lease, in milliseconds: when it is over, the call is of no use. */
  readonly leaseLeft?: number
}

/** Errors of the server after which a statement is tried again, because it was not executed: their native codes, with the reasons. */
export interface ErrorCodes {
  /** Somebody else was faster, or something is in the way, such as a lock on the table. */
  readonly transientErrors: Readonly<Record<string, string>>
  /** This server does not accept writes, or nothing at all: the connection leads to the wrong one, and is not used again. */
  readonly readOnlyErrors: Readonly<Record<string, string>>
}

/** How the calls of one provider reach the database. */
export interface Database {
  readonly executor: SqlExecutor
  readonly dialect: ErrorCodes
  /** Of one call, in milliseconds. */
  readonly timeLimit: number
  readonly abandonments: Abandonments
}

/**
 * How many connections may be ended because they gave no answer: twenty, and one more every five minutes. A server that is alive and
 * only blocked, such as by a synchronous standby that is away, keeps the session of each of them, and has room for a hundred.
 */
export class Abandonments {
  #count = 0
  #since = time.now()

  /** Whether one more connection may be ended. */
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
/** A shorter attempt is of no use. In milliseconds. */
const SHORTEST_ATTEMPT = 200

/** For how many milliseconds a call may last. */
export function limitOf(
  { timeLimit }: Database,
  { leaseLeft = timeLimit }: Pick<DatabaseCall<unknown>, 'leaseLeft'>,
): number {
  return Math.min(timeLimit, leaseLeft)
}

/**
 * Repeats a call until there is an answer, an error after which it is not repeated, or no time left. Where an attempt without an
 * answer may be repeated, each gets half of the time that is left: one that got lost leaves time for others, on other connections.
 *
 * @param deadline on the monotonic clock
 * @throws LockError `TIMEOUT`, `DATABASE_ERROR`, or what the client says of itself; DriverError for an answer after which it is not
 *   repeated
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

/** @throws NoAnswer when the limit is over, in milliseconds; the connection of the attempt is then not used again */
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

/** Thrown when there was no answer in time. */
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
 * What an error says about its statement. `transient`: it changed nothing, and may be tried again. `read-only`: the same, on another
 * connection. `unanswered`: nobody knows whether it was executed. `refused`: every other answer of the server.
 */
type ErrorKind = 'transient' | 'read-only' | 'unanswered' | 'refused'

export function errorKind({ transientErrors, readOnlyErrors }: ErrorCodes, error: unknown): ErrorKind {
  if (error instanceof LostRace) return 'transient'
  const { code } = driverErrorOf(error)
  if (code === undefined) return 'unanswered'
  if (isReadOnly(code, readOnlyErrors)) return 'read-only'
  return code in transientErrors ? 'transient' : 'refused'
}

/** For an answer that does not say how many rows a statement changed. */
export function uncounted(): LockError {
  return new LockError(
    'INVALID_CLIENT',
    'This client does not tell how many rows a statement changed, so nobody would know whether a lock was acquired – use a client or a driver that does, and no trigger that returns rows.',
  )
}

/** @throws LockError `INVALID_CLIENT` when a client did not say how many rows a statement changed */
export function changedRows(count: unknown): number {
  const changed = Number(count)
  if (Number.isSafeInteger(changed)) return changed
  throw uncounted()
}

/** The same error with the name of its lock. */
export function withName(error: LockError, lockName: string | undefined): LockError {
  if (lockName === undefined || error.lockName !== undefined) return error
  return new LockError(error.code, error.message, { lockName, cause: error.cause })
}

const NO_ANSWER =
  'check whether the connection pool is exhausted (a lock needs a connection besides those of open transactions), the database is blocked, or it waits for a synchronous standby that is away.'
const LEASE_IS_OVER =
  'that was all that was left of its lease. Extend it earlier, or make lockAtMostFor longer.'

/** @param endsWithLease whether `limit` was what was left of the lease, in milliseconds */
function timeout(error: unknown, lockName: string | undefined, limit: number, endsWithLease: boolean) {
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

function readOnlyError(error: unknown, lockName: string | undefined): LockError {
  const { code, message, cause } = driverErrorOf(error)
  return new LockError(
    'DATABASE_ERROR',
    `This database server does not accept writes, so it cannot serve ${subject(lockName)}: ${message} (error ${code}) – it is a standby or a former primary. Make the connections of the pool lead to the primary.`,
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
