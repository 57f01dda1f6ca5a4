import { later, Lease, recogniseEveryCopy, time, type Acquisition } from '../core'
import type { Dialect, Pin } from './dialect'
import type { Holder } from './holder'
import type { LockRows } from './lock-rows'

/** The database's clock is cut to milliseconds, so a lease may begin that much in the past, and end as much earlier. */
const CLOCK_STEP = 1

/** One acquisition of a lock in SQL. */
export class SqlAcquisition implements Acquisition {
  static {
    recogniseEveryCopy(this, 'SqlAcquisition')
  }

  #lease: Lease
  /** Until when the row may be held: an extension that nobody answered may still be done. */
  #reach: Lease

  /**
   * @param lease begun before the request was sent, as `leaseOf` makes it
   * @param asked when the request was sent, on the monotonic clock; `locked_at` is at or after that
   * @param lockAtLeastFor in milliseconds since `locked_at`
   */
  constructor(
    private readonly rows: LockRows,
    readonly holder: Holder,
    readonly dialect: Dialect,
    readonly pin: Pin,
    lease: Lease,
    private readonly asked: number,
    private lockAtLeastFor: number,
  ) {
    this.#lease = lease
    this.#reach = lease
  }

  get lease(): Lease {
    return this.#lease
  }

  async extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<Lease | undefined> {
    const asked = leaseOf(lockAtMostFor)
    this.#reach = new Lease(this.#reach.remaining() + lockAtMostFor)
    if (!(await this.rows.extend(this.holder, lockAtMostFor, this.#lease))) return undefined
    // The row remembers when it was locked, not when it was extended.
    if (lockAtLeastFor !== undefined)
      this.lockAtLeastFor = lockAtLeastFor && Math.ceil(time.now() - this.asked) + lockAtLeastFor
    return (this.#lease = later(this.#lease, asked))
  }

  fencingToken(): Promise<number | undefined> {
    return this.rows.fencingToken(this.holder, this.#lease)
  }

  unlock(early: boolean): Promise<void> {
    return this.rows.unlock(this.holder, early ? 'unused' : this.lockAtLeastFor, this.#reach)
  }
}

/** What the holder may trust; to be begun before the request is sent. */
export function leaseOf(lockAtMostFor: number): Lease {
  return new Lease(lockAtMostFor - CLOCK_STEP)
}
