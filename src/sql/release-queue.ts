import { time, type Cancel } from '../core/internal'

/** A release in the background that waits for its turn. */
export interface PendingRelease {
  /** When it is due, on the monotonic clock. */
  readonly due: number
  /**
   * Sends it.
   *
   * @param givenUp resolves if its answer is not waited for any more
   * @returns whether the database answered
   */
  send(givenUp: Promise<void>): Promise<boolean>
  /** Drops it, because there are too many. */
  drop(): void
}

/** How long all releases wait after the database gave no answer: at first, and at the longest, in milliseconds. */
const SHORTEST_INTERVAL = 100
const LONGEST_INTERVAL = 30_000
/** While a drain waits, or other calls succeed. */
const LONGEST_IN_A_HURRY = 1_000
/** When there are more than this, the oldest release is dropped, and its row expires. */
const MOST_RELEASES = 1_000

/**
 * The releases in the background of all providers, executors and copies of this package that share one client of the app. They are sent one
 * at a time. While the database does not answer, all of them wait longer and longer, until any call succeeds. Their timers do not
 * keep the process alive.
 */
export class ReleaseQueue {
  /** In the order in which they take their turns. */
  readonly #releases = new Set<PendingRelease>()
  #interval = SHORTEST_INTERVAL
  /** Until when all releases wait, on the monotonic clock, because the database gave no answer. 0: they do not wait. */
  notBefore = 0
  #drains = 0
  /** Stops the wait for the release that is under way. */
  #giveUp: (() => void) | undefined
  #cancelTimer: Cancel | undefined

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
    if (this.#giveUp || this.#releases.size === 0) return
    const due = Math.min(...[...this.#releases].map((release) => release.due))
    const delay = Math.max(0, due - time.now(), this.notBefore - time.now())
    this.#cancelTimer = time.after(delay, () => void this.#send(), false)
  }

  /**
   * Forgets the past failures, and lets releases wait less while the work goes on. The one under way may have a silent connection, so it
   * is sent again on another.
   */
  async hurryDuring(work: Promise<unknown>): Promise<void> {
    this.#drains++
    this.#interval = SHORTEST_INTERVAL
    this.notBefore = 0
    this.#giveUp?.()
    this.schedule()
    await work
    this.#drains--
  }

  /** Lets releases that wait do so for less, because another call has succeeded. */
  hurry(): void {
    this.notBefore = Math.min(this.notBefore, time.now() + LONGEST_IN_A_HURRY)
    this.schedule()
  }

  async #send(): Promise<void> {
    let isAnswered = true
    for (const release of this.#releases) {
      if (!isAnswered) break
      if (release.due > time.now()) continue
      isAnswered = await release.send(new Promise((giveUp) => (this.#giveUp = giveUp)))
      // To the end, so that one whose connection is dead does not delay the others.
      if (this.#releases.delete(release)) this.#releases.add(release)
    }
    const longest = this.#drains > 0 ? LONGEST_IN_A_HURRY : LONGEST_INTERVAL
    this.#interval = isAnswered ? SHORTEST_INTERVAL : Math.min(this.#interval * 2, longest)
    this.notBefore = isAnswered ? 0 : time.now() + time.jittered(this.#interval)
    this.#giveUp = undefined
    this.schedule()
  }
}
