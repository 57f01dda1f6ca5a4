import { later, Lease, recogniseEveryCopy, type Acquisition } from '../core'
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

  readonly dialect: Dialect
  readonly pin: Pin
  #lease: Lease
  /** Until when the row may be held: an extension that nobody answered may still be done. */
  #reach: Lease

  /**
   * @param taken its lease, begun when the request was sent, as `leaseOf` makes it; `locked_at` is not before that
   * @param lockAtLeastFor in milliseconds since `locked_at`
   */
  constructor(
    private readonly rows: LockRows,
    readonly holder: Holder,
    private readonly taken: Lease,
    private lockAtLeastFor: number,
  ) {
    this.dialect = rows.dialect
    this.pin = rows.statements.pin
    this.#lease = taken
    this.#reach = taken
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
      this.lockAtLeastFor = lockAtLeastFor && Math.ceil(this.taken.age()) + lockAtLeastFor
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
