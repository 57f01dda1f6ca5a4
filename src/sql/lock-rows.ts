import {
  later,
  Lease,
  recogniseEveryCopy,
  time,
  tokenOfRetry,
  type Acquisition,
  type CheckedLockConfiguration,
  type UnlockOptions,
} from '../core'
import { BackgroundReleases, type BackgroundRelease } from './background-releases'
import { errorKind, LostRace, untold } from './call-errors'
import type { AcquireOutcome, AcquireStep, Dialect } from './dialect'
import { endedOwner, type EndedRun } from './owner'
import { lockRecord, NEVER } from './records'
import { DriverError, type Row, type Values } from './statement'
import type { StoredTable } from './stored-table'

/** The owner of a row, for one acquisition. */
export interface Holder {
  readonly name: string
  readonly lockedBy: string
  /** Whether `locked_at` is a slot, which can be acquired again if the task never began. */
  readonly hasSlot?: boolean
}

/** How its row is to be acquired. */
type AcquireRequest = Pick<CheckedLockConfiguration, 'lockAtMostFor' | 'slot' | 'untilSucceeded'>

/** What a statement did or saw; and the row of who holds the lock, or the clock that the slot is too far ahead of, if it saw one. */
interface Acquired {
  readonly outcome: AcquireOutcome
  readonly row?: Row | undefined
}

/** Acquires and releases the rows of one table, and cleans up behind what got no answer. */
export class LockRows {
  readonly releases: BackgroundReleases

  constructor(readonly table: StoredTable) {
    this.releases = new BackgroundReleases(table.timeLimit)
  }

  /**
   * Acquires the row, or tells what a statement saw that speaks against it. If nobody knows in the end whether the row was
   * acquired, it is released in the background.
   *
   * @param wanted default: the steps for its slot, or without one
   * @returns what the last statement told, and the lease of a row that it acquired, begun before it was sent
   */
  async acquire(
    holder: Holder,
    { lockAtMostFor, slot, untilSucceeded }: AcquireRequest,
    wanted?: readonly AcquireStep[],
  ): Promise<Acquired & { readonly lease: Lease }> {
    const { statements } = this.table
    const { name, lockedBy } = holder
    const steps = wanted ?? (slot === undefined ? statements.acquire : statements.acquireSlot)
    // Not spread, here and in a release: that is 60 times as slow in V8. A retry of a slot is rare.
    const values = { name, lockedBy, lockAtMostFor, slot }
    let isWanted = true
    let write: Promise<Acquired | undefined> | undefined
    const attempt = async () => {
      for (const step of steps) {
        const lease = leaseOf(lockAtMostFor)
        const answer = this.#step(step, values)
        write = step.tells === 'refusal' ? undefined : answer
        let acquired = await answer
        if (!isWanted) break
        if (acquired?.outcome === 'already-run' && untilSucceeded)
          acquired = await (write = this.#acquireAgain(values, () => isWanted))
        if (acquired?.outcome === 'slot-too-far-ahead') {
          const [clock] = await this.table.executor.query(statements.now, values)
          acquired = { outcome: acquired.outcome, row: clock }
        }
        if (acquired) return { outcome: acquired.outcome, row: acquired.row, lease }
      }
      throw new LostRace()
    }
    try {
      return await this.table.call({ lockName: name, checksTable: true, attempt })
    } catch (error) {
      isWanted = false
      if (write) this.#releaseLateAcquisition(write, holder, lockAtMostFor)
      throw error
    }
  }

  /**
   * Acquires the row without a run: `locked_at` stays, so that nobody mistakes the pause for one.
   *
   * @returns whether it is the holder's now
   */
  async pause(holder: Holder, pauseFor: number): Promise<boolean> {
    const { pause, acquireSlot } = this.table.statements
    // A slot before every other is acquired only where there is no row.
    const steps: AcquireStep[] = [{ tells: 'acquired', statement: pause }, ...acquireSlot]
    const { outcome } = await this.acquire(holder, { lockAtMostFor: pauseFor, slot: NEVER }, steps)
    return outcome === 'acquired'
  }

  /**
   * Sends it once.
   *
   * @param run how its run ended; `undefined`: nothing ran, and its slot may be acquired again
   * @returns how many rows that changed
   */
  release({ name, lockedBy, hasSlot }: Holder, run?: EndedRun): Promise<number> {
    const { release, releaseLater, releaseUnused } = this.table.statements
    const keepFor = run?.keepFor ?? 0
    const statement = !run && hasSlot ? releaseUnused : keepFor > 0 ? releaseLater : release
    return this.table.changes(statement, { name, lockedBy, unlockedBy: endedOwner(lockedBy, run), keepFor })
  }

  /** Releases a row that nobody used, in the background. */
  releaseUnused(holder: Holder, lockAtMostFor: number): void {
    const attempt = () => this.release(holder)
    this.releases.add({ attempt, lease: new Lease(lockAtMostFor), mayArriveLater: 'no' })
  }

  /** @returns `undefined` when it tells nothing, and the next step is to be tried */
  async #step({ tells, statement }: AcquireStep, values: Values): Promise<Acquired | undefined> {
    if (tells === 'acquired' || tells === 'acquired or held') {
      const changed = await this.table.changes(statement, values)
      if (changed > 0) return { outcome: 'acquired' }
      return tells === 'acquired' ? undefined : { outcome: 'held' }
    }
    const [row] = await this.table.executor.query(statement, values)
    // The first rows may be those of a trigger.
    if (tells === 'outcome' && row?.['outcome'] === undefined) throw untold()
    const outcome = row && ((row['outcome'] ?? 'held') as AcquireOutcome | 'free')
    return outcome === undefined || outcome === 'free' ? undefined : { outcome, row }
  }

  /**
   * The slot was acquired before. The row tells who holds it now, or how its last run ended.
   *
   * @param isWanted whether somebody still waits for it
   */
  async #acquireAgain(values: Values, isWanted: () => boolean): Promise<Acquired> {
    const { acquireAgain, find } = this.table.statements
    const [row] = await this.table.executor.query(find, values)
    const seen = row && lockRecord(row)
    if (seen?.held) return { outcome: 'held', row }
    const token = seen?.lastRun && tokenOfRetry(Number(values.slot), seen.lockedAt.getTime())
    if (!token || seen.lastRun.outcome === 'succeeded') return { outcome: 'already-run' }
    if (!isWanted()) throw new LostRace()
    const again = { ...values, slot: token, seenBy: seen.lockedBy, seenAt: seen.lockedAt.getTime() }
    if ((await this.table.changes(acquireAgain, again)) > 0) return { outcome: 'acquired' }
    throw new LostRace()
  }

  /** Nobody waits for this write any more: if it acquired the row, or nobody knows, the row is released. */
  #releaseLateAcquisition(write: Promise<Acquired | undefined>, holder: Holder, lockAtMostFor: number): void {
    const release: BackgroundRelease = {
      attempt: () => this.release(holder),
      lease: new Lease(lockAtMostFor + this.table.timeLimit),
      mayArriveLater: 'under way',
    }
    // A connection whose other end is gone may tell so only after a quarter of an hour.
    this.releases.add(release, this.table.timeLimit)
    write.then(
      (answer) => {
        release.mayArriveLater = 'no'
        if (answer?.outcome === 'acquired') this.releases.hurry(release)
        else this.releases.remove(release)
      },
      (error: unknown) => {
        release.mayArriveLater = 'unknown'
        const isUnanswered = errorKind(this.table.dialect, error) === 'unanswered'
        if (isUnanswered && !(error instanceof DriverError && !error.sent)) this.releases.hurry(release)
        else this.releases.remove(release)
      },
    )
  }
}

/** The database's clock is cut to milliseconds, so a lease may begin that much in the past, and end as much earlier. */
const CLOCK_STEP = 1

/** What the holder may trust; to be begun before the request is sent. */
function leaseOf(lockAtMostFor: number): Lease {
  return new Lease(lockAtMostFor - CLOCK_STEP)
}

/** One acquisition of a row: its holder extends and releases it. */
export class SqlAcquisition implements Acquisition {
  static {
    recogniseEveryCopy(this, 'SqlAcquisition')
  }

  /** The longest lease that was requested: an extension that nobody answered may still be done. */
  #longest: number
  #atLeast: Lease
  readonly #acquired = time.now()

  /** @param lease begun when the request was sent; the answer came just now */
  constructor(
    readonly rows: LockRows,
    readonly holder: Holder,
    public lease: Lease,
    { lockAtMostFor, lockAtLeastFor }: CheckedLockConfiguration,
  ) {
    this.#longest = lockAtMostFor
    this.#atLeast = new Lease(lockAtLeastFor)
  }

  get dialect(): Dialect {
    return this.rows.table.dialect
  }

  async extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<Lease | undefined> {
    const lease = leaseOf(lockAtMostFor)
    this.#longest = Math.max(this.#longest, lockAtMostFor)
    const { table } = this.rows
    const { name, lockedBy } = this.holder
    const attempt = () => table.changes(table.statements.extend, { name, lockedBy, lockAtMostFor })
    if ((await this.#callWhileHeld(attempt)) === 0) return undefined
    if (lockAtLeastFor !== undefined) this.#atLeast = this.#atLeast.lasting(lockAtLeastFor)
    return (this.lease = later(this.lease, lease))
  }

  async fencingToken(): Promise<number | undefined> {
    const { executor, statements } = this.rows.table
    const { name, lockedBy } = this.holder
    const attempt = () => executor.query(statements.fencingToken, { name, lockedBy })
    const [row] = await this.#callWhileHeld(attempt)
    return row && Number(row['token'])
  }

  /** When it fails it goes on in the background. */
  async unlock(told: UnlockOptions['outcome']): Promise<void> {
    const ended = time.now()
    const ranFor = ended - this.#acquired
    const expires = new Lease(this.#longest)
    const outcome = told === 'succeeded' || told === 'failed' ? told : 'unlocked'
    const run = (): EndedRun | undefined => {
      if (told === 'unused') return undefined
      const keepFor = Math.ceil(this.#atLeast.remaining())
      return { outcome, ranFor, keepFor, heldFor: keepFor + time.now() - ended }
    }
    const attempt = () => this.rows.release(this.holder, run())
    try {
      await this.rows.table.call({ lockName: this.holder.name, idempotent: true, attempt })
    } catch (error) {
      this.rows.releases.add({ attempt, lease: expires, mayArriveLater: 'no' })
      throw error
    }
  }

  /** What is left of the lease is all the time there is. */
  #callWhileHeld<T>(attempt: () => Promise<T>): Promise<T> {
    const leaseLeft = this.lease.remaining()
    return this.rows.table.call({ lockName: this.holder.name, leaseLeft, idempotent: true, attempt })
  }
}
