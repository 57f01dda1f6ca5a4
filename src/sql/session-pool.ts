import { LockError, time, type Cancel, type Deadline, type Lease } from '../core/internal'
import { isPoolTimeout } from './database-errors'
import { DriverError, type SqlClient, type SqlSession } from './session'

/** Who waits for a turn. */
export interface Turn {
  readonly client: SqlClient
  /** How many connections of its own the client may open. */
  readonly ownConnections: number
  /** `held`: it keeps a lock that is held, and goes first. */
  readonly precedence: 'held' | 'release' | 'acquisition'
  /** Of the call. */
  readonly deadline: Deadline
}

interface WaitingTurn {
  readonly turn: Turn
  /** Turns are given in this order. */
  readonly order: number
  readonly begin: () => void
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

  take(): boolean {
    const now = time.now()
    this.used = Math.max(0, this.used - (now - this.#since) / this.interval)
    this.#since = now
    if (this.used > this.most - 1) return false
    this.used++
    return true
  }
}

/** How many sessions of the app's pool may be in use, if nothing can be opened. */
const MOST_OF_POOL = 10
/** How many connections are opened while everything that waits can be served in time. */
const USUAL_CONNECTIONS = 5
/** How many waiting calls are worth one more connection: opening it takes longer than a lock. */
const WORTH_A_CONNECTION = 4
/** In milliseconds: longer than the pause between two locks of one job, and too short for a firewall to forget an idle connection. */
const IDLE = 1_000
/** In milliseconds: after a server has refused a connection, none is opened for so long, because the app may need what is free. */
const AFTER_A_REFUSAL = 300_000
/** In milliseconds: after that, a statement that failed has waited on the server for what another session has locked. */
const LONG_WAIT = 500

/**
 * The sessions of the locks that share one client of the app, and the order in which their calls get them.
 *
 * A session is a connection that the client opens beside its own pool, so that a lock does not wait for the app's queries. If the client
 * cannot open one, or the server has no room for it, the session is one of the client's pool, and goes back after each attempt.
 *
 * Usually, one or two connections are enough. More are opened, up to five, while more than four calls wait for each; up to ten only
 * while the others would wait for longer than half of their time limit, or if no call has ended for a quarter of it. An idle one is
 * closed after a second. While a lock is held, one stays open, so that an extension needs no login; of a client's pool too, if that
 * has enough.
 *
 * Calls that keep a lock go first. The others go in the order of their deadlines, but a release as if it had been called a fifth of its
 * time limit earlier: it does not wait behind later acquisitions, and those that are about to run out of time do not wait behind it.
 *
 * Each session that is ended makes a pool open another one. So there are limits:
 *
 * - If it gave no answer: twenty, and one more every five minutes. A server that is alive but blocked, for example by a synchronous
 *   standby that is down, keeps a session for each of them, and may have room for only a hundred. Ten for each row, because somebody
 *   may have locked that row, so that the others are left for connections that are silent.
 * - If its server accepts no writes: the repeats of calls, which are six, and then one more every 1.25 seconds. First attempts and
 *   releases in the background are not counted.
 *
 * As soon as a write changes a row, these limits start again, except the ten of each other row.
 */
export class SessionPool {
  readonly #turns = new Set<Turn>()
  readonly #waiting: WaitingTurn[] = []
  /** The last one was used last. */
  readonly #idle: PooledSession[] = []
  /** How many connections of our own are open, or being opened. */
  #connections = 0
  /** How long a turn takes, in milliseconds: the average, in which the last ones count most. */
  #turnTakes = 0
  #lastTurnWaited = false
  #refusedUntil = 0
  readonly #heldLocks = new Set<{ readonly lease: Lease }>()
  readonly #silent = new Allowance(20, 300_000)
  readonly #readOnly = new Allowance(6, 1_250)
  readonly #silentOfRow = new Map<string, number>()
  #cancelTimer: Cancel | undefined
  #cancelWatch: Cancel | undefined

  /** Lets an attempt begin: at once, or when the promise resolves. Call `endTurn` for each. */
  beginTurn(turn: Turn): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#hasRoom(turn)) {
      this.#turns.add(turn)
      return undefined
    }
    return new Promise((begin) => {
      const { precedence, deadline } = turn
      const { end, limit } = deadline
      const order = precedence === 'held' ? -Infinity : precedence === 'release' ? end - limit / 5 : end
      const later = this.#waiting.findIndex((other) => other.order > order)
      this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, { turn, order, begin })
      this.#next()
    })
  }

  /**
   * Ends a turn, once.
   *
   * @param took in milliseconds; `undefined` if it was given up
   * @param isConflict whether something was in its way
   */
  endTurn(turn: Turn, took?: number, isConflict = false): void {
    if (!this.#turns.delete(turn)) return
    this.#cancelWatch?.()
    this.#cancelWatch = undefined
    if (took !== undefined) {
      this.#turnTakes += (took - this.#turnTakes) / 4
      this.#lastTurnWaited = isConflict && took >= LONG_WAIT
    }
    if (this.#waiting.length > 0) this.#next()
  }

  /** How many calls wait for a turn. */
  get waiting(): number {
    return this.#waiting.length
  }

  #next(): void {
    let [first] = this.#waiting
    for (; first && this.#hasRoom(first.turn); [first] = this.#waiting) this.#begin(first)
    if (first) this.#cancelWatch ??= time.after(first.turn.deadline.limit / 4, this.#beginAnother, false)
  }

  #begin({ turn, begin }: WaitingTurn): void {
    this.#turns.add(turn)
    this.#waiting.shift()
    begin()
  }

  /** No turn has ended for a while, as when all connections are silent. */
  readonly #beginAnother = (): void => {
    this.#cancelWatch = undefined
    const [first] = this.#waiting
    if (first && this.#canOpen(first.turn) && this.#turns.size < first.turn.ownConnections) this.#begin(first)
    this.#next()
  }

  #hasRoom(turn: Turn): boolean {
    const turns = this.#turns.size
    // While they wait on the server, as MySQL's do for a locked table, leave the app the other half of a usual pool.
    if (!this.#canOpen(turn)) return turns < (this.#lastTurnWaited ? USUAL_CONNECTIONS : MOST_OF_POOL)
    if (turns === 0 || turns < this.#connections - (this.#isKeptFrom(turn) ? 1 : 0)) return true
    if (turns >= turn.ownConnections) return false
    if (turn.precedence === 'held') return true
    const { length } = this.#waiting
    return turns < USUAL_CONNECTIONS
      ? length > WORTH_A_CONNECTION * turns
      : (length * this.#turnTakes) / turns > turn.deadline.limit / 2
  }

  #canOpen({ client, ownConnections }: Turn): boolean {
    return client.open !== undefined && ownConnections > 0 && time.now() >= this.#refusedUntil
  }

  /** Returns a session for the turn: an idle one, a new one, or one of the client's pool. */
  async connect(turn: Turn): Promise<SqlSession> {
    const { client, ownConnections, precedence } = turn
    // What holds a lock may still end well.
    const unusable = precedence === 'acquisition' ? client.unusable?.() : undefined
    if (unusable) throw unusable
    const source = client.source?.()
    for (const idle of this.#idle.toReversed()) {
      if (this.#isKeptFrom(turn)) break
      // After the client was ended, what is not an acquisition also uses a connection to where the client led before.
      const fits =
        (!idle.isOwn || ownConnections > 0) &&
        (idle.source === source || (precedence !== 'acquisition' && client.unusable?.() !== undefined))
      const index = fits ? this.#idle.indexOf(idle) : -1
      if (index < 0) continue
      this.#idle.splice(index, 1)
      // A process that stood still may find its connections dead. What is not an acquisition can be repeated, so it uses the one that stayed.
      const isFresh = time.now() - idle.since <= IDLE
      if ((isFresh || precedence !== 'acquisition') && (await idle.wake?.()) !== false) return idle
      void idle.close()
    }
    let why: unknown
    if (this.#canOpen(turn) && this.#connections < ownConnections) {
      this.#connections++
      const began = time.now()
      try {
        const session = await client.open?.()
        // A turn has about half as many round trips.
        this.#turnTakes ||= (time.now() - began) / 2
        if (session) return new PooledSession(session, true, source, this.#giveBack, this.#closed)
      } catch (error) {
        this.#connections--
        if (error instanceof LockError) throw error
        why = error
        const { code, lasts } = error instanceof DriverError ? error : { code: undefined, lasts: false }
        // Otherwise, there is no server, or it is starting, which the client's own pool will notice, too.
        if (code !== undefined || lasts || isPoolTimeout(error))
          this.#refusedUntil = time.now() + AFTER_A_REFUSAL
      }
    }
    const session = await client.connect().catch((error: unknown) => {
      if (!(error instanceof LockError) || !client.open || ownConnections === 0) throw error
      // No lock can use the client's pool, so there is nothing else than its own connections.
      this.#refusedUntil = 0
      // Created only now, because a stack trace takes longer than all else here.
      why ??= new DriverError(undefined, 'timeout: all connections of the locks are in use', false)
      throw why
    })
    return client.keepsOne ? new PooledSession(session, false, source, this.#giveBack, this.#closed) : session
  }

  /**
   * Whether the only idle connection is kept from this turn: once it has been idle for long, it stays for what keeps a held lock, if the turn
   * can open another one.
   */
  #isKeptFrom({ ownConnections, precedence }: Turn): boolean {
    const [only, ...others] = this.#idle
    if (!only || others.length > 0 || precedence !== 'acquisition' || this.#heldLocks.size === 0) return false
    return this.#connections < ownConnections && time.now() - only.since > IDLE
  }

  /** Lets connections be opened after a refusal, too: the client's pool has given none. */
  forgetRefusal(): void {
    this.#refusedUntil = 0
  }

  /** Whether a session gave no answer, and no write has succeeded since. */
  get isSilent(): boolean {
    return this.#silent.used > 0
  }

  /** Counts a session that gave no answer to a statement for this row. @returns whether it may be ended */
  countSilence(row: string): boolean {
    const ofRow = this.#silentOfRow.get(row) ?? 0
    if (ofRow >= 10 || !this.#silent.take()) return false
    this.#silentOfRow.set(row, ofRow + 1)
    return true
  }

  /** Counts a server that accepted no writes. @returns whether the call may be repeated, which costs one more session */
  countReadOnly(): boolean {
    return this.#readOnly.take()
  }

  /** Notes that a write has changed this row, so that the limits start again. */
  forgive(row: string): void {
    this.#silent.used = this.#readOnly.used = 0
    this.#silentOfRow.delete(row)
  }

  /** Keeps a connection open while this lock is held. Call it before its attempt gives the session back. */
  hold(lock: { readonly lease: Lease }): void {
    this.#heldLocks.add(lock)
  }

  letGo(lock: { readonly lease: Lease }): void {
    this.#heldLocks.delete(lock)
    // The app needs its own.
    if (this.#idle[0]?.isOwn === false) this.closeIdle()
  }

  /** Closes the connections that have been idle for as long as this, but leaves one while a lock is held. @param least in milliseconds */
  closeIdle(least = IDLE): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    for (const lock of this.#heldLocks) if (lock.lease.remaining() === 0) this.#heldLocks.delete(lock)
    const kept = this.#heldLocks.size > 0 ? 1 : 0
    for (let [oldest] = this.#idle; oldest; [oldest] = this.#idle) {
      const left = oldest.isOwn ? oldest.since + least - time.now() : 0
      if (left > 0 || this.#idle.length <= kept) {
        this.#cancelTimer = time.after(left > 0 ? Math.ceil(left) : IDLE, this.#closeDue, false)
        return
      }
      void this.#idle.shift()?.close()
    }
  }

  readonly #closeDue = (): void => {
    this.closeIdle()
  }

  readonly #giveBack = (session: PooledSession): void => {
    this.#idle.push(session)
    if (!this.#cancelTimer || !session.isOwn) this.closeIdle()
  }

  readonly #closed = (): void => {
    this.#connections--
  }
}

/** A session that stays open between two calls. */
class PooledSession implements SqlSession {
  readonly execute: SqlSession['execute']
  readonly wake: SqlSession['wake']
  readonly end: SqlSession['end']
  /** Since when it is idle, on the monotonic clock. */
  since = 0

  /**
   * @param isOwn whether it is a connection of our own, and not one of the client's pool
   * @param source what the client's connections had in common when it was opened
   */
  constructor(
    private readonly session: SqlSession,
    readonly isOwn: boolean,
    readonly source: unknown,
    private readonly giveBack: (session: PooledSession) => void,
    private readonly closed: () => void,
  ) {
    this.execute = session.execute.bind(session)
    this.wake = session.wake?.bind(session)
    this.end = session.end && (() => this.#closeBy(session.end))
  }

  release(): void {
    this.session.rest?.()
    this.since = time.now()
    this.giveBack(this)
  }

  /** Closes it, or returns it to the client's pool. Never rejects. */
  async close(): Promise<void> {
    try {
      await this.#closeBy(this.session.release)
    } catch {
      // The connection is broken, and its socket is closed.
    }
  }

  #closeBy(how: SqlSession['end']): unknown {
    if (this.isOwn) this.closed()
    return how?.call(this.session)
  }
}
