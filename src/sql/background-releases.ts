import { inTime, time, type Cancel, type Lease } from '../core/internal'

/**
 * What is known about a row whose release no caller waits for:
 *
 * - `acquiring` the statement that acquires it may still be answered
 * - `lost` that answer is lost, but the statement may still arrive, so a release that finds no row must be repeated
 * - `ours` every statement has been answered, so one release is enough
 */
type RowState = 'acquiring' | 'lost' | 'ours'

/** A row that may be held although it is no longer used. */
export interface BackgroundRelease {
  /** Sends the release once, at most within this many milliseconds, and returns how many rows it changed. */
  readonly attempt: (limit: number) => Promise<number>
  /** Once this is over, the row has expired by itself. */
  readonly lease: Lease
  state: RowState
}

interface Entry {
  /** On the monotonic clock. */
  due: number
  interval: number
}

const FIRST_INTERVAL = 100
const LONGEST_INTERVAL = 30_000
/** While somebody waits in `drain`. */
const LONGEST_AT_THE_END = 1_000
/** How long before the end of `drain` the last attempt ends: a pool that is closed then would wait for its session. */
const BEFORE_THE_END = 50
/** How the interval grows for a row that was not found. It grows fast, because a late statement usually arrives soon. */
const UNTIL_FOUND = { growth: 6, longest: 300_000 }
/** When there are more than this, the oldest one is dropped, and its row expires. */
const AT_MOST = 1_000

/** What the queues of all callers of one provider share. */
export interface Queues {
  /** Those that have entries or acquire locks. */
  readonly busy: Set<BackgroundReleases>
  /** Of the provider, as `#state` is of one queue. */
  state: 'open' | 'draining' | 'closed'
}

/**
 * The releases of one caller that it does not wait for. One statement is sent at a time. While the database does not answer, the
 * interval grows for all releases; for a row that was not found but may still arrive, it grows for that release alone. Does not keep
 * the process alive.
 *
 * | state       | a release found the row | it found none              | no answer      |
 * | ----------- | ----------------------- | -------------------------- | -------------- |
 * | `ours`      | done                    | done                       | again, at last |
 * | `lost`      | done                    | again later; while draining, the second time is the last | again, at last |
 * | `acquiring` | done                    | again later                | again, at last |
 */
export class BackgroundReleases {
  readonly #entries = new Map<BackgroundRelease, Entry>()
  /** `closed`: nothing more is sent until the caller acquires again, which opens the queue again. */
  #state: 'open' | 'draining' | 'closed' = 'open'
  /** Ends the wait in `drain`. */
  #drained: (() => void) | undefined
  /** When all attempts have to end, on the monotonic clock. */
  #endOfAttempts = Infinity
  #interval = FIRST_INTERVAL
  #notBefore = 0
  #cancelTimer: Cancel | undefined
  #isSending = false
  /** How many acquisitions may still add an entry. */
  #acquiring = 0

  constructor(private readonly all: Queues) {}

  /** Notes that an acquisition begins. Until it ends, `drain` waits for it, because it may leave something to release. */
  begin(): void {
    this.#state = this.all.state = 'open'
    this.#endOfAttempts = Infinity
    this.#acquiring++
    this.all.busy.add(this)
  }

  end(): void {
    this.#acquiring--
    this.#settle()
  }

  /** @param after how many milliseconds to wait before the first attempt */
  add(release: BackgroundRelease, after = 0): void {
    if (this.#state === 'closed' || this.all.state === 'closed') return
    const [oldest] = this.#entries.keys()
    if (oldest && this.#entries.size >= AT_MOST) this.#entries.delete(oldest)
    this.#entries.set(release, { due: time.now() + after, interval: FIRST_INTERVAL })
    this.#schedule()
  }

  /** Notes that no answer to the acquisition will come any more, and sends the release without further delay. */
  hurry(release: BackgroundRelease, state: RowState): void {
    release.state = state
    const entry = this.#entries.get(release)
    if (!entry) return
    entry.due = time.now()
    this.#schedule()
  }

  remove(release: BackgroundRelease): void {
    if (this.#entries.delete(release)) this.#schedule()
  }

  /**
   * Sends each release until it is answered, and waits for acquisitions that are under way, but at most `timeout` milliseconds;
   * then drops the rest, and sends nothing more.
   */
  async drain(timeout: number): Promise<void> {
    this.#state = 'draining'
    if (timeout > BEFORE_THE_END) this.#endOfAttempts = time.now() + timeout - BEFORE_THE_END
    this.#interval = FIRST_INTERVAL
    this.#notBefore = 0
    const ended = new Promise<void>((end) => {
      const others = this.#drained
      this.#drained = () => {
        others?.()
        end()
      }
    })
    for (const entry of this.#entries.values()) entry.due = time.now()
    this.#schedule()
    await inTime(ended, timeout, () => new Error('not drained')).catch(() => undefined)
    // Unless the caller has acquired a lock in the meantime.
    if (this.#isDraining()) this.#state = 'closed'
    this.#entries.clear()
    this.#schedule()
  }

  /** A method, because the compiler does not know that `#state` changes during a wait. */
  #isDraining(): boolean {
    return this.#state === 'draining'
  }

  /** Ends the wait in `drain` if there is nothing left to wait for. */
  #settle(): void {
    if (this.#entries.size > 0 || this.#acquiring > 0) return
    this.all.busy.delete(this)
    this.#drained?.()
    this.#drained = undefined
  }

  #schedule(): void {
    this.#cancelTimer?.()
    this.#settle()
    if (this.#entries.size === 0) return
    this.all.busy.add(this)
    if (this.#isSending) return
    const due = Math.min(...[...this.#entries.values()].map((entry) => entry.due))
    const delay = Math.max(0, due - time.now(), this.#notBefore - time.now())
    this.#cancelTimer = time.after(delay, () => void this.#send(), false)
  }

  async #send(): Promise<void> {
    this.#isSending = true
    let isAnswered = true
    // Added during the provider's drain by a caller that it did not wait for.
    if (this.all.state === 'closed') this.#entries.clear()
    for (const [release, { due }] of [...this.#entries]) {
      if (!isAnswered || due > time.now() || !this.#entries.has(release)) continue
      isAnswered = await this.#attempt(release)
    }
    const longest = this.#drained ? LONGEST_AT_THE_END : LONGEST_INTERVAL
    this.#interval = isAnswered ? FIRST_INTERVAL : Math.min(this.#interval * 2, longest)
    this.#notBefore = isAnswered ? 0 : time.now() + time.jittered(this.#interval)
    this.#isSending = false
    this.#schedule()
  }

  /** @returns whether the database answered */
  async #attempt(release: BackgroundRelease): Promise<boolean> {
    const entry = this.#entries.get(release)
    // Read this before the attempt: the statement that acquires the row may arrive, and be answered, while this release waits.
    const { state } = release
    const limit = this.#endOfAttempts - time.now()
    if (limit <= 0) return false
    const changed = await release.attempt(limit).catch(() => undefined)
    // It may have been removed during the attempt, or dropped at the end of a `drain`.
    if (!entry || !this.#entries.delete(release)) return changed !== undefined
    const isDone = changed !== undefined && (changed > 0 || this.#isLast(state, entry))
    if (isDone || release.lease.remaining() === 0) return changed !== undefined
    if (changed === 0) {
      entry.interval = Math.min(entry.interval * UNTIL_FOUND.growth, UNTIL_FOUND.longest)
      entry.due = time.now() + time.jittered(entry.interval)
    }
    // Requeue it last, so that a dead connection does not delay the others.
    this.#entries.set(release, entry)
    return changed !== undefined
  }

  /**
   * Returns whether a release that found no row was the last. At the end two of them are enough. One is not: a server may be executing
   * the statement at this moment, as when it waited for a lock while its client gave up.
   */
  #isLast(state: RowState, { interval }: Entry): boolean {
    return state === 'ours' || (state === 'lost' && interval > FIRST_INTERVAL && this.#drained !== undefined)
  }
}
