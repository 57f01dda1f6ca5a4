import { inTime, LockError, sleep, time } from '../core/internal'
import {
  busy,
  databaseError,
  driverErrorOf,
  isPoolTimeout,
  noAnswer,
  noWrites,
  uncounted,
  withName,
} from './database-errors'
import { READ_ONLY_COLUMN } from './results'
import {
  DriverError,
  NOT_PREPARED,
  NOT_REPLICATED,
  type SqlClient,
  type SqlRow,
  type SqlSession,
  type StatementResult,
} from './session'
import type { Sql, SqlValues } from './sql'

// One call to the database: its time limit, its attempts, and what becomes of their sessions.

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
  /** This server accepts no writes, or no statements at all. It is the wrong server, so the session is ended. */
  readonly readOnlyErrors: Readonly<Record<string, string>>
}

/** What an attempt needs to know about the dialect. */
interface Counting {
  readonly counted?: ((write: Sql) => Sql) | undefined
}

/** How the calls of one provider reach the database. */
export interface Database {
  readonly client: SqlClient
  readonly dialect: ErrorCodes & Counting
  /** For one call, in milliseconds. */
  readonly timeLimit: number
  readonly ended: EndedSessions
}

/** The code for a result of a server that accepts no writes, which is not an error of the server. */
const READ_ONLY = 'READ_ONLY'

/** One attempt of a call: sends statements one after another on one session, which it opens for the first. */
export class Attempt {
  /** Whether the caller no longer waits. Nothing more is sent then. */
  isGivenUp = false
  /** Whether a write has changed rows, so that this server is alive and accepts writes. */
  hasWritten = false
  #session: SqlSession | undefined
  /** The last statement; a session is never without one. */
  #underWay!: Promise<unknown>
  /** Rejects that statement. */
  #cancel!: (error: DriverError) => void

  constructor(
    private readonly client: SqlClient,
    private readonly dialect: Counting,
  ) {}

  /** Reads rows. @throws DriverError, also if the server accepts no writes, because its rows may be old */
  async query(statement: Sql, values: SqlValues = {}): Promise<readonly SqlRow[]> {
    const { rows } = await this.execute(statement, values, 'rows')
    if (Number(rows[0]?.[READ_ONLY_COLUMN] ?? 0) !== 0)
      throw new DriverError(READ_ONLY, 'the server is read-only')
    return rows
  }

  /** Writes, and returns how many rows changed. @throws LockError `INVALID_CLIENT` if the client does not report it; DriverError */
  async changes(statement: Sql, values: SqlValues = {}): Promise<number> {
    const changed = this.dialect.counted
      ? (await this.query(statement, values))[0]?.['changed']
      : (await this.execute(statement, values, 'changed')).changed
    const count = Number(changed ?? NaN)
    if (!Number.isSafeInteger(count)) throw uncounted()
    if (count > 0) this.hasWritten = true
    return count
  }

  /** Sends a statement. */
  async execute(statement: Sql, values: SqlValues, wants: keyof StatementResult): Promise<StatementResult> {
    if (!this.isGivenUp) this.#session ??= await this.client.connect()
    const session = this.#session
    if (this.isGivenUp || !session) {
      // A session that arrives too late goes back at once.
      await this.release()
      throw new DriverError(undefined, 'the attempt was given up before the statement was sent', false)
    }
    // Some drivers never settle the statements of a connection that was closed.
    return new Promise((resolve, reject) => {
      this.#cancel = reject
      this.#underWay = session.execute(statement, values, wants).then(resolve, reject)
    })
  }

  /** Returns the session to its pool. Call it when no statement is under way. Never rejects, so that the first error is reported. */
  async release(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    try {
      await session?.release?.()
    } catch {
      // The connection is broken, and the pool drops it.
    }
  }

  /** Closes the connection if that is possible: otherwise it goes back to its pool. Never rejects. */
  async end(): Promise<void> {
    const session = this.#session
    if (!session?.end) return this.release()
    this.#session = undefined
    try {
      await session.end()
    } catch {
      // It is closed already.
    }
  }

  /** Leaves a server that accepts no writes: otherwise the pool would keep lending its connections, and no job would run. */
  async leave(): Promise<void> {
    const ends = this.#session?.end !== undefined
    await this.end()
    if (!ends) await this.client.leave?.()
  }

  /**
   * Stops waiting. A session that gave no answer is ended, because it may be silent for good, and must not return to its pool. If it
   * cannot or may not be ended, it is released when its statement has been answered.
   *
   * @param mayEnd whether it may be ended
   * @returns the statement that is still under way
   */
  giveUp(mayEnd: () => boolean): Promise<unknown> | undefined {
    this.isGivenUp = true
    if (!this.#session) {
      this.client.stopConnecting?.()
      return undefined
    }
    if (this.#session.end && mayEnd()) {
      void this.end()
      this.#cancel(new DriverError(undefined, 'the session was ended, because no answer arrived'))
      return undefined
    }
    return this.#underWay.then(() => this.release())
  }
}

/** A number of times, and one more after each interval. */
class Allowance {
  /** How many are used up. Fractions, because they come back continuously. */
  used = 0
  #since = time.now()

  /** @param interval in milliseconds */
  constructor(
    private readonly most: number,
    private readonly interval: number,
  ) {}

  allow(): boolean {
    const now = time.now()
    this.used = Math.max(0, this.used - (now - this.#since) / this.interval)
    this.#since = now
    if (this.used > this.most - 1) return false
    this.used++
    return true
  }
}

/**
 * Limits how many sessions of one provider are ended, because each of them makes the pool open another one:
 *
 * - If they gave no answer: twenty, and one more every five minutes. A server that is alive but blocked, for example by a synchronous
 *   standby that is down, keeps a session for each of them, and may have room for only a hundred. Ten for each row, because somebody
 *   may have locked that row, so that the others are left for connections that are silent.
 * - If their server accepts no writes: those of first attempts, six more, and then four in five seconds.
 *
 * As soon as a write changes a row, the past is forgiven.
 */
export class EndedSessions {
  readonly #unanswered = new Allowance(20, 300_000)
  readonly #readOnly = new Allowance(6, 1_250)
  readonly #rows = new Map<string | undefined, number>()

  mayEndUnanswered(lockName: string | undefined): boolean {
    const ofRow = this.#rows.get(lockName) ?? 0
    if (ofRow >= 10 || !this.#unanswered.allow()) return false
    this.#rows.set(lockName, ofRow + 1)
    return true
  }

  /** Returns whether a call may be repeated on a server that accepted no writes, which costs one more session. */
  mayLeave(): boolean {
    return this.#readOnly.allow()
  }

  /** Notes that a write has changed the row of this lock. */
  forgive(lockName: string | undefined): void {
    this.#unanswered.used = this.#readOnly.used = 0
    this.#rows.delete(lockName)
  }
}

/** A shorter attempt is useless. In milliseconds. */
const SHORTEST_ATTEMPT = 200

/**
 * Returns how long to wait before an attempt is repeated, in milliseconds. A lost race is over at once. A server that refuses gets
 * three repeats soon, because only the connections of the pool may be out of date, and then fewer and fewer.
 */
function intervalBefore(repeat: number, kind: ErrorKind): number {
  if (kind === 'transient' || repeat < 3) return Math.min(2 * 2 ** repeat, 100)
  return Math.min(100 * 2 ** (repeat - 3), 1_000)
}

/**
 * Repeats a call until it is answered, fails with an error that is not retried, or runs out of time. A call that was certainly not
 * sent is repeated, so that a restart of the server loses no job. An idempotent call is also repeated without an answer: its first
 * attempt gets half of the time, and the second one the rest, on another connection.
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
  let isFirst = true
  for (let repeat = 0; ; repeat++) {
    const left = deadline - time.now()
    const limit = Math.max(
      1,
      idempotent && isFirst ? Math.min(left, Math.max(left / 2, SHORTEST_ATTEMPT)) : left,
    )
    try {
      return await attemptWithin(limit, call, database)
    } catch (error) {
      if (error instanceof LockError) throw withName(error, lockName)
      const kind = errorKind(database.dialect, error)
      if (kind === 'refused') throw error
      const unusable = (kind === 'unanswered' || kind === 'not-sent') && database.client.unusable?.()
      if (unusable) throw new LockError(unusable.code, unusable.message, { lockName, cause: error })
      if (kind === 'transient' || kind === 'read-only' || kind === 'not-sent') inTheWay = error
      if (error instanceof NoAnswer) isFirst = false
      const isRepeated = idempotent || kind !== 'unanswered'
      do {
        const interval = time.jittered(intervalBefore(repeat, kind))
        // The deadline may have cut the last attempt short, so report the error of an earlier one.
        if (!isRepeated || time.now() + interval >= deadline) throw failure(inTheWay ?? error, call, database)
        await sleep(interval)
      } while (kind === 'read-only' && !database.ended.mayLeave() && ++repeat)
    }
  }
}

/** Creates the error for a call that ran out of time, or whose outcome is unknown. */
function failure(error: unknown, call: DatabaseCall<unknown>, database: Database): LockError {
  const { lockName, leaseLeft = Infinity } = call
  const limit = Math.min(database.timeLimit, leaseLeft)
  if (error instanceof NoAnswer) return noAnswer(error, lockName, limit, leaseLeft < database.timeLimit)
  const kind = errorKind(database.dialect, error)
  if (kind === 'read-only') return noWrites(error, lockName)
  if (kind === 'not-sent' && isPoolTimeout(error)) return noAnswer(error, lockName, limit, false)
  // A server without room for another connection is busy, too.
  const { code = '' } = driverErrorOf(error)
  return kind === 'transient' || kind === 'not-prepared' || code in database.dialect.transientErrors
    ? busy(error, lockName, limit)
    : databaseError(error, lockName)
}

/**
 * Runs one attempt, and gives it up after `limit` milliseconds.
 *
 * @param keepsAlive whether the process waits for it before it ends
 * @throws NoAnswer when it is given up
 */
export async function attemptWithin<T>(
  limit: number,
  call: DatabaseCall<T>,
  { client, dialect, ended }: Database,
  keepsAlive = true,
): Promise<T> {
  const { lockName } = call
  const attempt = new Attempt(client, dialect)
  const work = async (): Promise<T> => {
    try {
      const result = await call.attempt(attempt)
      if (attempt.hasWritten) ended.forgive(lockName)
      await attempt.release()
      return result
    } catch (error) {
      // Otherwise the session belongs to `giveUp`.
      if (!attempt.isGivenUp) await finish(attempt, error)
      throw error
    }
  }
  const finish = async (failed: Attempt, error: unknown): Promise<void> => {
    const kind = errorKind(dialect, error)
    const isSilent = kind === 'unanswered' && error instanceof DriverError && error.code === undefined
    if (kind === 'read-only') await failed.leave()
    else if (kind === 'not-prepared' || (isSilent && ended.mayEndUnanswered(lockName))) await failed.end()
    else await failed.release()
  }
  try {
    const late = () => new NoAnswer(`no answer within ${Math.round(limit)} ms`)
    return await inTime(work(), limit, late, keepsAlive)
  } catch (error) {
    if (error instanceof NoAnswer) error.underWay = attempt.giveUp(() => ended.mayEndUnanswered(lockName))
    throw error
  }
}

/** Thrown if no answer arrived in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  /** The statement, if its session was not ended. */
  underWay: Promise<unknown> | undefined
}

/** Thrown by an attempt if another session was faster. */
export class LostRace extends Error {
  override readonly name = 'LostRace'

  constructor() {
    super('another session was faster')
  }
}

/**
 * What an error means for its statement. `transient`: it changed nothing, and may be tried again. `read-only`, `not-prepared`: the
 * same, but on another connection. `not-sent`: there was no connection for it. `unanswered`: it is unknown whether it was executed, or
 * whether its effect lasts. `refused`: any other answer of the server, or a connection that never comes.
 */
type ErrorKind = 'transient' | 'read-only' | 'not-prepared' | 'not-sent' | 'unanswered' | 'refused'

export function errorKind({ transientErrors, readOnlyErrors }: ErrorCodes, error: unknown): ErrorKind {
  if (error instanceof LostRace) return 'transient'
  const { code, sent, lasts } = driverErrorOf(error)
  if (!sent) return lasts ? 'refused' : 'not-sent'
  if (code === undefined || code === NOT_REPLICATED) return 'unanswered'
  if (code === NOT_PREPARED) return 'not-prepared'
  if (code === READ_ONLY || code in readOnlyErrors) return 'read-only'
  return code in transientErrors ? 'transient' : 'refused'
}
