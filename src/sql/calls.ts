import { LockError, sleep, time, type Deadline } from '../core/internal'
import { uncountedError, unfitError } from './database-errors'
import type { LockDialect } from './dialect'
import {
  Failure,
  failureKind,
  FAILURES,
  LostRace,
  READ_ONLY,
  type ErrorCodes,
  type Handling,
} from './failures'
import type { ClientState } from './client-state'
import type { Turn } from './session-pool'
import { COLUMN, readFlag, readNumber } from './results'
import { DriverError, type SqlClient, type SqlRow, type SqlSession, type StatementResult } from './session'
import type { Sql, SqlValues } from './sql'

// One call to the database: its time limit, its attempts, and what becomes of their sessions. What is done about a failure is in
// failures.ts, and how the calls of a lock belong together under "The life of a lock" in sql-lock-provider.ts.

/** One request to the database, with its retries. */
export interface DatabaseCall<T> {
  /** The lock that the request is for, to name it in an error. Default: the lock table. */
  readonly lockName?: string | undefined
  /** Sends the request once. */
  readonly attempt: (attempt: Attempt) => Promise<T>
  /**
   * Returns whether the request may be sent again now although it may have been executed, because it would make no difference if it were
   * executed twice. Default: no.
   */
  readonly isRepeatable?: () => boolean
  /** What is left of the lock's lease, in milliseconds; when it is over, the call is useless. */
  readonly leaseLeft?: number
  /** Who goes first if many calls wait for a session. Default: an acquisition. */
  readonly precedence?: Turn['precedence'] | undefined
}

/** What an attempt needs to know about the dialect. */
type Counting = Pick<LockDialect, 'counted' | 'joined'>

/** How the calls of one lock table reach the database. */
export interface Database {
  readonly client: SqlClient
  readonly dialect: ErrorCodes & Counting
  /** For one call, in milliseconds. `Deadline` adds up to as much again if the process stood still beyond it. */
  readonly timeLimit: number
  readonly shared: ClientState
  /** How many connections the client may open for locks. */
  readonly ownConnections: number
  /** Names the table among those of all providers. */
  readonly tableKey: string
  /** Returns whether another session has locked the whole table, where a statement would go on waiting for it after its call. */
  isLockedByOthers(attempt: Attempt): Promise<boolean>
}

/** One attempt of a call: sends statements one after another on one session, which it opens for the first. */
export class Attempt {
  /** Whether the caller no longer waits. Nothing more is sent then. */
  isGivenUp = false
  /** Whether a write has changed rows, so that this server is alive and accepts writes. */
  hasWritten = false
  /** Whether it has, or had, a session. */
  isConnected = false
  /** Whether its writes may join a transaction that the app has left open: its session owns no connection. */
  mayJoin = false
  #session: SqlSession | undefined
  /** Resolves when the last statement has been answered, or was cancelled; a session is never without one. */
  #answered!: Promise<unknown>
  /** When it was sent. */
  #sent = 0
  /** Rejects it. */
  #cancel!: (error: DriverError) => void

  /**
   * @param lockName the lock that it is for, to name it in an error
   * @param connect opens the session
   */
  constructor(
    private readonly client: SqlClient,
    private readonly dialect: Counting,
    readonly lockName?: string | undefined,
    private readonly connect = () => client.connect(),
  ) {}

  /** The schema with which the client's connections begin, if it knows. */
  get ownSchema(): string | undefined {
    return this.client.schema?.()
  }

  /** Reads rows. @throws DriverError, also if the server accepts no writes, because its rows may be old */
  async query(statement: Sql, values: SqlValues = {}): Promise<readonly SqlRow[]> {
    const { rows } = await this.execute(statement, values, 'rows')
    const [row] = rows
    if (row && readFlag(row, COLUMN.readOnly)) throw new DriverError(READ_ONLY, 'the server is read-only')
    if (!row || !readNumber(row, COLUMN.unfit)) return rows
    // A server that stood still during the statement looks as if its session had another clock.
    const { rows: again } = await this.execute(statement, values, 'rows')
    const why = again[0] && readNumber(again[0], COLUMN.unfit)
    if (why) throw unfitError(why, this.lockName)
    return again
  }

  /** Writes, and returns how many rows changed. @throws LockError `INVALID_CLIENT` if the client does not report it; DriverError */
  async changes(statement: Sql, values: SqlValues = {}): Promise<number> {
    const [row = {}] = this.dialect.counted
      ? await this.query(statement, values)
      : [{ changed: (await this.execute(statement, values, 'changed')).changed }]
    const count = readNumber(row, COLUMN.changed) ?? NaN
    if (!Number.isSafeInteger(count)) throw uncountedError(this.lockName)
    if (count > 0) this.hasWritten = true
    return count
  }

  /** Sends a statement. */
  async execute(statement: Sql, values: SqlValues, wants: keyof StatementResult): Promise<StatementResult> {
    if (!this.isGivenUp && !this.#session) {
      this.#session = await this.connect()
      this.isConnected = true
      this.mayJoin = this.dialect.joined !== undefined && !this.#session.release
    }
    const session = this.#session
    if (this.isGivenUp || !session) {
      // A session that arrives too late goes back at once.
      await this.giveBack()
      throw new DriverError(undefined, 'the attempt was given up before the statement was sent', false)
    }
    this.#sent = time.now()
    // Some drivers never settle the statements of a connection that was closed.
    const answer = new Promise<StatementResult>((resolve, reject) => {
      this.#cancel = reject
      session.execute(statement, values, wants).then(resolve, reject)
    })
    this.#answered = answer.catch(() => undefined)
    return answer
  }

  /**
   * Returns the session to its pool, or closes its connection, if that is possible. Call it when no statement is under way. Never rejects,
   * so that the first error is reported.
   */
  async giveBack(how: 'release' | 'end' = 'release'): Promise<void> {
    const session = this.#session
    this.#session = undefined
    try {
      await (session?.[how] ?? session?.release)?.call(session)
    } catch {
      // The connection is broken, and the pool drops it.
    }
  }

  /** Does with the session what the failure of its statement calls for. Never rejects. */
  async handOver(what: Handling['session'], countSilence: () => boolean): Promise<void> {
    const canEnd = this.#session?.end !== undefined
    const ends = what === 'leave its server' || what === 'end' || (what === 'end sparingly' && countSilence())
    await this.giveBack(ends ? 'end' : 'release')
    // Otherwise the pool would keep lending connections to a server that accepts no writes, and no job would run. If that fails, the
    // next attempt shows it.
    if (what === 'leave its server' && !canEnd) await this.client.dropReadOnly?.().catch(() => undefined)
  }

  /**
   * Stops waiting. A session that gave no answer is ended, because it may be silent for good, and must not return to its pool: at once,
   * or when its statement has had the time of the shortest attempt, because it may have waited for a connection until now. If it cannot
   * or may not be ended, it is released when its statement has been answered.
   *
   * @returns resolves when the session has been ended or released; `undefined` if it was ended at once
   */
  giveUp(countSilence: () => boolean): Promise<unknown> | undefined {
    this.isGivenUp = true
    // It is being opened, or goes back already.
    if (!this.#session) return undefined
    const endSilent = (): boolean => {
      // Counts the silence even if the session cannot be ended.
      if (!this.#session || !countSilence() || !this.#session.end) return false
      void this.giveBack('end')
      this.#cancel(new DriverError(undefined, 'the session was ended, because no answer arrived'))
      return true
    }
    const left = SHORTEST_ATTEMPT - (time.now() - this.#sent)
    if (left <= 0 && endSilent()) return undefined
    if (left > 0) time.after(left, endSilent, false)
    return this.#answered.then(() => this.giveBack())
  }
}

/** A shorter attempt is useless. In milliseconds. */
const SHORTEST_ATTEMPT = 200

/** The longest time after which a server ends the wait of a statement because we asked it to, in milliseconds: that of MySQL. */
const LONGEST_WAIT = 1_000

/**
 * Returns how long to wait before an attempt is repeated, in milliseconds. What is in the way is usually another session's commit, which
 * takes about as long as an attempt, so there is no pause for three repeats, nor for a millisecond, in which SQLite answers ten; but what
 * stays is asked less and less. A server that refuses gets three repeats soon, because only the connections of the pool may be out of date.
 *
 * @param lasted how long the call has lasted, and @param paused how long it has paused, in milliseconds
 */
function intervalBefore(repeat: number, repeats: Handling['repeat'], lasted: number, paused: number): number {
  if (repeats === 'soon')
    return repeat < 3 || (repeat < 10 && lasted < 1) ? 0 : Math.min(Math.max(2, paused / 4), 500)
  return repeat < 3 ? 2 * 2 ** repeat : Math.min(100 * 2 ** (repeat - 3), 1_000)
}

/**
 * Repeats a call until it is answered, fails for good, or runs out of time. A call that was certainly not executed is repeated, so that
 * a restart of the server loses no job. While that would be harmless, it is also repeated without an answer: its first attempt gets half of
 * the time, and after silence the second one gets the rest, on another connection.
 *
 * @throws LockError `TIMEOUT`, `DATABASE_ERROR`, why the client is `unusable`, or that of the attempt; DriverError for a server error
 *   that is not retried
 */
export async function callDatabase<T>(
  database: Database,
  call: DatabaseCall<T>,
  deadline: Deadline,
): Promise<T> {
  const shortest = Math.min(SHORTEST_ATTEMPT, deadline.limit / 4)
  const began = time.now()
  let paused = 0
  const share: Share = { least: shortest, takesRest: false }
  let explanation: Failure | undefined
  for (let repeat = 0; ; repeat++) {
    const result = await attemptWithin(database, call, deadline, share)
    if (!(result instanceof Failure)) return result
    const { kind, error, waited } = result
    const handling = FAILURES[kind]
    const isUnknown = handling.repeat === 'later, if repeatable'
    // The server may not have answered, or the client has thrown an error of its own, which names no lock.
    const mayBeUnusable = isUnknown || handling.session === 'none' || error instanceof LockError
    const unusable = mayBeUnusable ? database.client.unusable?.() : undefined
    if (unusable)
      throw new LockError(unusable.code, unusable.message, { lockName: call.lockName, cause: error })
    const isRepeated = isUnknown ? call.isRepeatable?.() === true : handling.repeat !== 'never'
    // What could not be prepared is sent unprepared next, so it does not explain why a call got no answer.
    if (isRepeated && !isUnknown && kind !== 'unprepared') explanation = result
    if (kind === 'given-up') share.takesRest = true
    // The server let it wait for what is in the way. An attempt that is cut short there would cost its session.
    share.least = Math.max(share.least, shortest + Math.min(LONGEST_WAIT, waited))
    // While no more repeats are allowed on servers that accept no writes, it pauses again instead.
    for (;;) {
      const interval = time.jittered(intervalBefore(repeat, handling.repeat, time.now() - began, paused))
      // The deadline may have cut the last attempt short, so report an earlier failure that explains more. Anything else speaks for itself.
      if (!isRepeated || interval >= deadline.takeLeft() - share.least) {
        const isCutShort = isRepeated || kind === 'given-up' || kind === 'crowded'
        const told = isCutShort ? (explanation ?? result) : result
        throw FAILURES[told.kind].error(told.error, { ...call, timeLimit: database.timeLimit })
      }
      if (interval > 0) await sleep(interval)
      paused += interval
      if (kind !== 'read-only' || database.shared.sessions.countReadOnly()) break
      repeat++
    }
  }
}

/** How an attempt shares the time of its call. */
interface Share {
  /** How many milliseconds it needs: without them it does not begin. */
  least: number
  /** Whether it may take what is left. Otherwise it is given up after half of it, if a repeat would be harmless then. */
  takesRest: boolean
  /** Whether the process waits for it before it ends. Default: yes. */
  readonly keepsAlive?: boolean
}

/** Runs one attempt, and gives it up in time. Never rejects. */
export async function attemptWithin<T>(
  database: Database,
  call: DatabaseCall<T>,
  deadline: Deadline,
  { least, takesRest, keepsAlive }: Share,
): Promise<T | Failure> {
  const { client, dialect, ownConnections } = database
  const { sessions, releases } = database.shared
  const { lockName, precedence = 'acquisition' } = call
  const turn: Turn = { client, ownConnections, precedence, deadline }
  const begins = sessions.beginTurn(turn)
  if (begins) {
    const crowded = new Error(`all connections were in use, and ${sessions.waiting - 1} other calls waited`)
    try {
      await deadline.wait(begins, () => crowded, least, keepsAlive)
    } catch {
      // When it comes, it is the next one's.
      void begins.then(() => {
        sessions.endTurn(turn)
      })
      return new Failure('crowded', crowded)
    }
  }
  const attempt = new Attempt(client, dialect, lockName, sessions.connect.bind(sessions, turn))
  const row = `${database.tableKey} ${lockName}`
  const countSilence = (): boolean => sessions.countSilence(row)
  const begun = time.now()
  const work = async (): Promise<T | Failure> => {
    let isConflict = false
    try {
      // A statement without an answer may wait for the table on the server. What comes after it must not wait there, too.
      if (sessions.isSilent && (await database.isLockedByOthers(attempt))) throw new LostRace()
      const value = await call.attempt(attempt)
      if (releases.notBefore > 0) releases.hurry()
      if (attempt.hasWritten) sessions.forgive(row)
      await attempt.giveBack()
      return value
    } catch (error) {
      const kind = failureKind(dialect, error)
      isConflict = kind === 'conflict'
      const waited = isConflict ? time.now() - begun : undefined
      // Otherwise the session belongs to `giveUp`.
      if (!attempt.isGivenUp) await attempt.handOver(FAILURES[kind].session, countSilence)
      return new Failure(kind, error, undefined, waited)
    } finally {
      sessions.endTurn(turn, time.now() - begun, isConflict)
    }
  }
  const left = deadline.takeLeft()
  const reserved = takesRest ? 0 : Math.max(0, Math.min(left / 2, left - Math.max(least, SHORTEST_ATTEMPT)))
  const answer = work()
  const late = (): Error => new Error(`no answer within ${Math.round(time.now() - begun)} ms`)
  try {
    return await deadline.wait(answer, late, reserved, keepsAlive).catch((error: unknown) => {
      if (takesRest || call.isRepeatable?.()) throw error
      return deadline.wait(answer, late, 0, keepsAlive)
    })
  } catch (error) {
    // Nobody waits for it any more.
    sessions.endTurn(turn)
    if (!attempt.isConnected) sessions.forgetRefusal()
    return new Failure('given-up', error, attempt.giveUp(countSilence))
  }
}
