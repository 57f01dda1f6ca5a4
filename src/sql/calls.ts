import { inTime, LockError, sleep, time } from '../core/internal'
import {
  busy,
  databaseError,
  driverErrorOf,
  noAnswer,
  noWrites,
  uncounted,
  withName,
} from './database-errors'
import {
  DriverError,
  NOT_PREPARED,
  NOT_REPLICATED,
  READ_ONLY_COLUMN,
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
  #session: SqlSession | undefined
  /** Rejects the statement that is under way. */
  #cancel: ((error: DriverError) => void) | undefined
  #underWay: Promise<unknown> | undefined

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
    if (Number.isSafeInteger(count)) return count
    throw uncounted()
  }

  /** Sends a statement. */
  async execute(statement: Sql, values: SqlValues, wants: keyof StatementResult): Promise<StatementResult> {
    const session = (this.#session ??= await this.#connect())
    this.#throwIfGivenUp()
    const answer = session.execute(statement, values, wants)
    this.#underWay = answer
    // Some drivers never settle the statements of a connection that was closed.
    const result = await new Promise<StatementResult>((resolve, reject) => {
      this.#cancel = reject
      answer.then(resolve, reject)
    })
    this.#underWay = undefined
    return result
  }

  async #connect(): Promise<SqlSession> {
    const session = await this.client.connect()
    if (this.isGivenUp) void release(session)
    this.#throwIfGivenUp()
    return session
  }

  #throwIfGivenUp(): void {
    if (this.isGivenUp)
      throw new DriverError(undefined, 'the attempt was given up before the statement was sent', false)
  }

  /** Returns the session to its pool. Call it when no statement is under way. */
  async release(): Promise<void> {
    if (this.#session?.release) await release(this.#session)
  }

  /** Leaves a server that accepts no writes. Otherwise the pool would keep lending its connections, and no job would run. */
  async leave(): Promise<void> {
    await this.end()
    if (!this.#session?.end) await this.client.leave?.()
  }

  /** Closes the connection if that is possible: otherwise the pool would lend it again. Call it when no statement is under way. */
  async end(): Promise<void> {
    if (this.#session?.end) await end(this.#session)
    else await this.release()
  }

  /**
   * Stops waiting. A session that gave no answer is ended, because it may be silent for good and must not return to its pool. If it
   * cannot or may not be ended, it is released when its statement has been answered.
   */
  giveUp(isAllowed: () => boolean): void {
    this.isGivenUp = true
    if (!this.#session) this.client.stopConnecting?.()
    else if (this.#session.end && isAllowed()) {
      void end(this.#session)
      this.#cancel?.(new DriverError(undefined, 'the session was ended, because no answer arrived'))
    } else if (this.#session.release) {
      const answered = () => void this.release()
      Promise.resolve(this.#underWay).then(answered, answered)
    }
  }
}

/** Never rejects: on a broken connection this fails too, and the first error is reported. */
async function release(session: SqlSession): Promise<void> {
  try {
    await session.release?.()
  } catch {
    // The pool has dropped it.
  }
}

async function end(session: SqlSession): Promise<void> {
  try {
    await session.end?.()
  } catch {
    // It has ended already.
  }
}

/**
 * Limits how many sessions are ended because they gave no answer: twenty, and one more every five minutes. A server that is
 * alive but blocked, for example by a synchronous standby that is down, keeps a session for each of them, and may have room for
 * only a hundred.
 */
export class EndedSessions {
  #count = 0
  #since = time.now()

  /** Returns whether one more session may be ended, and counts it. */
  readonly allow = (): boolean => {
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
      return await attemptWithin(limit, call, database)
    } catch (error) {
      if (error instanceof LockError) throw withName(error, lockName)
      const kind = errorKind(database.dialect, error)
      if (kind === 'refused') throw error
      const unusable = kind === 'unanswered' && database.client.unusable?.()
      if (unusable) throw new LockError(unusable.code, unusable.message, { lockName, cause: error })
      if (kind === 'transient' || kind === 'read-only') inTheWay = error
      const isRepeated = idempotent || kind !== 'unanswered'
      if (!isRepeated || time.now() + interval >= deadline) {
        if (kind === 'unanswered' && !(error instanceof NoAnswer)) throw databaseError(error, lockName)
        // The deadline may have cut the last attempt short, so report the error of an earlier one.
        const reported = inTheWay ?? error
        if (errorKind(database.dialect, reported) === 'read-only') throw noWrites(reported, lockName)
        const whole = limitOf(database, call)
        if (reported instanceof NoAnswer)
          throw noAnswer(reported, lockName, whole, whole < database.timeLimit)
        throw busy(reported, lockName, whole)
      }
    }
    await sleep(time.jittered(interval))
  }
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
  const attempt = new Attempt(client, dialect)
  const work = async (): Promise<T> => {
    try {
      const result = await call.attempt(attempt)
      await attempt.release()
      return result
    } catch (error) {
      if (attempt.isGivenUp) throw error
      const kind = errorKind(dialect, error)
      if (kind === 'read-only') await attempt.leave()
      else if (kind === 'not-prepared') await attempt.end()
      else await attempt.release()
      throw error
    }
  }
  try {
    const late = () => new NoAnswer(`no answer within ${Math.round(limit)} ms`)
    return await inTime(work(), limit, late, keepsAlive)
  } catch (error) {
    if (error instanceof NoAnswer) attempt.giveUp(ended.allow)
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
 * What an error means for its statement. `transient`: it changed nothing, and may be tried again. `read-only`, `not-prepared`: the
 * same, but on another connection. `unanswered`: it is unknown whether it was executed, or whether its effect lasts. `refused`: any
 * other answer of the server.
 */
type ErrorKind = 'transient' | 'read-only' | 'not-prepared' | 'unanswered' | 'refused'

export function errorKind({ transientErrors, readOnlyErrors }: ErrorCodes, error: unknown): ErrorKind {
  if (error instanceof LostRace) return 'transient'
  const { code } = driverErrorOf(error)
  if (code === undefined || code === NOT_REPLICATED) return 'unanswered'
  if (code === NOT_PREPARED) return 'not-prepared'
  if (code === READ_ONLY || code in readOnlyErrors) return 'read-only'
  return code in transientErrors ? 'transient' : 'refused'
}
