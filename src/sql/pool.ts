import { sharedByEveryCopy, time, type Cancel } from '../core/internal'
import type { SqlClient } from './session'
import { SessionPool } from './session-pool'

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

/** A release in the background that waits for its turn. */
export interface PendingRelease {
  /** When it is due, on the monotonic clock. */
  readonly due: number
  /** Sends it. @returns whether the database answered */
  send(): Promise<boolean>
  /** Drops it, because there are too many. */
  drop(): void
}

const FIRST_INTERVAL = 100
const LONGEST_INTERVAL = 30_000
/** While a drain waits. */
const LONGEST_IN_A_DRAIN = 1_000
/** When there are more than this, the oldest release is dropped, and its row expires. */
const MOST_RELEASES = 1_000

/**
 * What all providers, executors and copies of this package share that use one client of the app: its sessions, how many of them may be
 * ended, and whose turn it is to send a release in the background.
 *
 * Each session that is ended makes a pool open another one. So there are limits:
 *
 * - If it gave no answer: twenty, and one more every five minutes. A server that is alive but blocked, for example by a synchronous
 *   standby that is down, keeps a session for each of them, and may have room for only a hundred. Ten for each row, because somebody
 *   may have locked that row, so that the others are left for connections that are silent.
 * - If its server accepts no writes: the repeats of calls, which are six, and then one more every 1.25 seconds. First attempts and
 *   releases in the background are not counted.
 *
 * As soon as a write changes a row, the past is forgiven.
 *
 * Releases in the background are sent one at a time. While the database does not answer, all of them wait longer and longer. They do
 * not keep the process alive.
 */
export class Pool {
  readonly sessions = new SessionPool()
  readonly #silent = new Allowance(20, 300_000)
  readonly #readOnly = new Allowance(6, 1_250)
  readonly #silentOfRow = new Map<string, number>()
  /** In the order in which they take their turns. */
  readonly #releases = new Set<PendingRelease>()
  #interval = FIRST_INTERVAL
  #notBefore = 0
  #drains = 0
  #isSending = false
  #cancelTimer: Cancel | undefined

  /** Whether a session gave no answer, and no write has succeeded since. */
  get isSilent(): boolean {
    return this.#silent.used > 0
  }

  /** Counts a session that gave no answer to a statement for this row. @returns whether it may be ended */
  takeSilentEnd(row: string): boolean {
    const ofRow = this.#silentOfRow.get(row) ?? 0
    if (ofRow >= 10 || !this.#silent.take()) return false
    this.#silentOfRow.set(row, ofRow + 1)
    return true
  }

  /** Returns whether a call may be repeated on a server that accepted no writes, which costs one more session. */
  takeLeave(): boolean {
    return this.#readOnly.take()
  }

  /** Notes that a write has changed this row. */
  forgive(row: string): void {
    this.#silent.used = this.#readOnly.used = 0
    this.#silentOfRow.delete(row)
  }

  add(release: PendingRelease): void {
    const [oldest] = this.#releases
    if (oldest && this.#releases.size >= MOST_RELEASES) oldest.drop()
    this.#releases.add(release)
    this.schedule()
  }

  delete(release: PendingRelease): void {
    if (this.#releases.delete(release)) this.schedule()
  }

  /** Lets the releases that are due begin. Call it when one of them has become due earlier. */
  schedule(): void {
    this.#cancelTimer?.()
    if (this.#isSending || this.#releases.size === 0) return
    const due = Math.min(...[...this.#releases].map((release) => release.due))
    const delay = Math.max(0, due - time.now(), this.#notBefore - time.now())
    this.#cancelTimer = time.after(delay, () => void this.#send(), false)
  }

  /** Forgets the past failures, and lets releases wait less while the work goes on. */
  async hurryDuring(work: Promise<unknown>): Promise<void> {
    this.#drains++
    this.#interval = FIRST_INTERVAL
    this.#notBefore = 0
    this.schedule()
    await work
    this.#drains--
  }

  async #send(): Promise<void> {
    this.#isSending = true
    let isAnswered = true
    for (const release of [...this.#releases]) {
      if (!isAnswered) break
      // It may have been dropped meanwhile.
      if (release.due > time.now() || !this.#releases.has(release)) continue
      isAnswered = await release.send()
      // To the end, so that one whose connection is dead does not delay the others.
      if (this.#releases.delete(release)) this.#releases.add(release)
    }
    const longest = this.#drains > 0 ? LONGEST_IN_A_DRAIN : LONGEST_INTERVAL
    this.#interval = isAnswered ? FIRST_INTERVAL : Math.min(this.#interval * 2, longest)
    this.#notBefore = isAnswered ? 0 : time.now() + time.jittered(this.#interval)
    this.#isSending = false
    this.schedule()
  }
}

const pools = sharedByEveryCopy('pools', () => new WeakMap<object, Pool>())

/** Returns the pool of the app's client behind this one. */
export function poolOf(client: SqlClient): Pool {
  const key = client.pool ?? client
  const pool = pools.get(key) ?? new Pool()
  pools.set(key, pool)
  return pool
}
