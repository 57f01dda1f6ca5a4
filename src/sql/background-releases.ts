import { inTime, time, type Cancel, type Lease } from '../core/internal'

/** A row that may be held although it is no longer used. */
export interface BackgroundRelease {
  /** Sends the release once, and returns how many rows it changed. */
  readonly attempt: () => Promise<number>
  /** Once this is over, the row has expired by itself. */
  readonly lease: Lease
  /** For whom the row was acquired. */
  readonly caller: object | undefined
  /**
   * Whether the statement that acquires the row may still arrive, so that a release that finds no row must be repeated. `under
   * way`: that statement may still be answered. `unknown`: its answer was lost, so its outcome will never be known.
   */
  mayArriveLater: 'no' | 'under way' | 'unknown'
}

interface Entry {
  /** On the monotonic clock. */
  due: number
  interval: number
}

const FIRST_INTERVAL = 100
const LONGEST_INTERVAL = 30_000
/** While a caller waits in `drain`. */
const LONGEST_AT_THE_END = 1_000
/** How the interval grows for a row that was not found. It grows fast, because a late statement usually arrives soon. */
const UNTIL_FOUND = { growth: 6, longest: 300_000 }
/** When there are more than this, the oldest one is dropped, and its row expires. */
const AT_MOST = 1_000

/**
 * The releases of one provider for which no caller waits. One statement is sent at a time. While the database does not answer, the
 * interval grows for all releases; for a row that was not found but may still arrive, it grows for that release alone. Does not
 * keep the process alive.
 */
export class BackgroundReleases {
  readonly #entries = new Map<BackgroundRelease, Entry>()
  /** The calls of `drain` that wait until none of their releases is left. */
  readonly #drains = new Set<{ concerns: (release: BackgroundRelease) => boolean; end: () => void }>()
  /** Callers that have drained, and acquire no more locks. */
  readonly #gone = new WeakSet<object>()
  /** How often the provider was used; and that number when the whole provider was last drained. */
  #uses = 0
  #drainedAt = -1
  #interval = FIRST_INTERVAL
  #notBefore = 0
  #cancelTimer: Cancel | undefined
  #isSending = false

  /** @param limit how long one attempt may take, in milliseconds */
  constructor(private readonly limit: number) {}

  /** @param after how many milliseconds to wait before the first attempt */
  add(release: BackgroundRelease, after = 0): void {
    if (this.#uses === this.#drainedAt || (release.caller && this.#gone.has(release.caller))) return
    const [oldest] = this.#entries.keys()
    if (oldest && this.#entries.size >= AT_MOST) this.#entries.delete(oldest)
    this.#entries.set(release, { due: time.now() + after, interval: FIRST_INTERVAL })
    this.#schedule()
  }

  /** Sends a release without further delay, unless it has been removed. */
  hurry(release: BackgroundRelease): void {
    const entry = this.#entries.get(release)
    if (!entry) return
    entry.due = time.now()
    this.#schedule()
  }

  remove(release: BackgroundRelease): void {
    if (this.#entries.delete(release)) this.#schedule()
  }

  /** Notes that the provider is used, perhaps again after a `drain`. */
  use(): void {
    this.#uses++
  }

  /**
   * Sends each release until it is answered, and waits for acquisitions that are under way, but at most `timeout` milliseconds;
   * then drops the rest, and sends nothing more.
   *
   * @param caller limits all of this to the releases of one caller
   */
  async drain(timeout: number, caller?: object): Promise<void> {
    const uses = this.#uses
    const concerns = (release: BackgroundRelease): boolean => !caller || release.caller === caller
    this.#interval = FIRST_INTERVAL
    this.#notBefore = 0
    const ended = new Promise<void>((end) => this.#drains.add({ concerns, end }))
    for (const [release, entry] of this.#entries) if (concerns(release)) entry.due = time.now()
    this.#schedule()
    await inTime(ended, timeout, () => new Error('not drained')).catch(() => undefined)
    if (caller) this.#gone.add(caller)
    else if (uses === this.#uses) this.#drainedAt = uses
    for (const release of [...this.#entries.keys()]) if (concerns(release)) this.#entries.delete(release)
    this.#schedule()
  }

  #schedule(): void {
    this.#cancelTimer?.()
    for (const drain of this.#drains) {
      if ([...this.#entries.keys()].some(drain.concerns)) continue
      this.#drains.delete(drain)
      drain.end()
    }
    if (this.#entries.size > 0 && !this.#isSending) {
      const due = Math.min(...[...this.#entries.values()].map((entry) => entry.due))
      const delay = Math.max(0, due - time.now(), this.#notBefore - time.now())
      this.#cancelTimer = time.after(delay, () => void this.#send(), false)
    }
  }

  async #send(): Promise<void> {
    this.#isSending = true
    let isAnswered = true
    for (const [release, { due }] of [...this.#entries]) {
      if (!isAnswered || due > time.now() || !this.#entries.has(release)) continue
      isAnswered = await this.#attempt(release)
    }
    const longest = this.#drains.size > 0 ? LONGEST_AT_THE_END : LONGEST_INTERVAL
    this.#interval = isAnswered ? FIRST_INTERVAL : Math.min(this.#interval * 2, longest)
    this.#notBefore = isAnswered ? 0 : time.now() + time.jittered(this.#interval)
    this.#isSending = false
    this.#schedule()
  }

  /** @returns whether the database answered */
  async #attempt(release: BackgroundRelease): Promise<boolean> {
    const entry = this.#entries.get(release)
    // Read this before the attempt: the statement that acquires the row may arrive, and be answered, while this release waits.
    const { mayArriveLater } = release
    const answer = inTime(release.attempt(), this.limit, () => new Error('no answer'), false)
    const changed = await answer.catch(() => undefined)
    // At the end two releases that find nothing are enough. One is not: a server may be executing the statement at this moment, as when
    // it waited for a lock while its client gave up.
    const isSecond = entry !== undefined && entry.interval > FIRST_INTERVAL
    const isLast =
      mayArriveLater === 'no' || (mayArriveLater === 'unknown' && isSecond && this.#isDrained(release))
    const isDone = changed !== undefined && (changed > 0 || isLast)
    // It may have been removed during the attempt, or dropped at the end of a `drain`.
    if (!entry || !this.#entries.delete(release)) return changed !== undefined
    if (!isDone && release.lease.remaining() > 0) {
      if (changed === 0) {
        entry.interval = Math.min(entry.interval * UNTIL_FOUND.growth, UNTIL_FOUND.longest)
        entry.due = time.now() + time.jittered(entry.interval)
      }
      // Requeue it last, so that a dead connection does not delay the others.
      this.#entries.set(release, entry)
    }
    return changed !== undefined
  }

  #isDrained(release: BackgroundRelease): boolean {
    return [...this.#drains].some((drain) => drain.concerns(release))
  }
}
