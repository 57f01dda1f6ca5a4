import { inTime, time, type Cancel, type Lease } from '../core/internal'

/** A row that may be held though nobody uses it any more. */
export interface BackgroundRelease {
  /** Sends its release once, and tells how many rows that changed. */
  readonly attempt: () => Promise<number>
  /** When it is over, the row expires by itself. */
  readonly lease: Lease
  /** Who acquired the row. */
  readonly caller: object | undefined
  /**
   * Whether the statement that acquires the row may still arrive, so that a release that finds nothing must be repeated. A
   * statement that is under way may still be answered; what became of one whose answer got lost is never known.
   */
  mayArriveLater: 'no' | 'under way' | 'unknown'
}

interface Entry {
  /** On the monotonic clock. */
  due: number
  pause: number
}

const FIRST_PAUSE = 100
const LONGEST_PAUSE = 30_000
/** While somebody waits for the last releases. */
const LONGEST_AT_THE_END = 1_000
/** How the pause grows for a row that was not there: what comes late mostly comes soon. */
const UNTIL_FOUND = { growth: 6, longest: 300_000 }
/** More than this many are not remembered: the oldest row is left to its lease. */
const AT_MOST = 1_000

/**
 * The releases of one provider whose callers do not wait for them. One statement is sent at a time. While the database does
 * not answer, the pauses grow, for all of them together; and they grow for a row that was not there and may still come.
 * Keeps no process alive.
 */
export class BackgroundReleases {
  readonly #entries = new Map<BackgroundRelease, Entry>()
  /** Those who wait until no release of theirs is left. */
  readonly #drains = new Set<{ concerns: (release: BackgroundRelease) => boolean; end: () => void }>()
  /** Callers who have drained: they acquire no more. */
  readonly #gone = new WeakSet<object>()
  /** How often the provider was used; and at which use all of it was drained. */
  #uses = 0
  #drainedAt = -1
  #pause = FIRST_PAUSE
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
    this.#entries.set(release, { due: time.now() + after, pause: FIRST_PAUSE })
    this.#schedule()
  }

  /** Releases it without further delay, if it is still among these. */
  hurry(release: BackgroundRelease): void {
    const entry = this.#entries.get(release)
    if (!entry) return
    entry.due = time.now()
    this.#schedule()
  }

  remove(release: BackgroundRelease): void {
    if (this.#entries.delete(release)) this.#schedule()
  }

  /** The provider is used, perhaps again after a `drain`. */
  use(): void {
    this.#uses++
  }

  /**
   * Sends each release until it is answered, and waits for acquisitions that are under way, but not for longer than this; then
   * forgets them, and sends nothing more.
   *
   * @param caller whose releases. Default: all
   */
  async drain(timeout: number, caller?: object): Promise<void> {
    const uses = this.#uses
    const concerns = (release: BackgroundRelease): boolean => !caller || release.caller === caller
    this.#pause = FIRST_PAUSE
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
      const pause = Math.max(0, due - time.now(), this.#notBefore - time.now())
      this.#cancelTimer = time.after(pause, () => void this.#send(), false)
    }
  }

  async #send(): Promise<void> {
    this.#isSending = true
    let isAnswered = true
    for (const [release, { due }] of [...this.#entries]) {
      if (!isAnswered || due > time.now() || !this.#entries.has(release)) continue
      isAnswered = await this.#attempt(release)
    }
    const longest = this.#drains.size > 0 ? LONGEST_AT_THE_END : LONGEST_PAUSE
    this.#pause = isAnswered ? FIRST_PAUSE : Math.min(this.#pause * 2, longest)
    this.#notBefore = isAnswered ? 0 : time.now() + time.jittered(this.#pause)
    this.#isSending = false
    this.#schedule()
  }

  /** @returns whether the database answered */
  async #attempt(release: BackgroundRelease): Promise<boolean> {
    const entry = this.#entries.get(release)
    // As it is now: what acquires the row may arrive, and be answered, before the answer to this release is heard.
    const { mayArriveLater } = release
    const answer = inTime(release.attempt(), this.limit, () => new Error('no answer'), false)
    const changed = await answer.catch(() => undefined)
    const isLast = mayArriveLater === 'no' || (mayArriveLater === 'unknown' && this.#isDrained(release))
    const isDone = changed !== undefined && (changed > 0 || isLast)
    // It may be gone, or others may have come to the end of theirs meanwhile.
    if (!entry || !this.#entries.delete(release)) return changed !== undefined
    if (!isDone && release.lease.remaining() > 0) {
      if (changed === 0) {
        entry.pause = Math.min(entry.pause * UNTIL_FOUND.growth, UNTIL_FOUND.longest)
        entry.due = time.now() + time.jittered(entry.pause)
      }
      // Behind the others: one whose connection is dead does not keep them waiting.
      this.#entries.set(release, entry)
    }
    return changed !== undefined
  }

  #isDrained(release: BackgroundRelease): boolean {
    return [...this.#drains].some((drain) => drain.concerns(release))
  }
}
