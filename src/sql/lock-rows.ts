import { Lease, tokenOfRetry } from '../core'
import { BackgroundReleases, type BackgroundRelease } from './background-releases'
import type { AcquireOutcome, AcquireStep } from './dialect'
import { endedOwner, type EndedRun } from './owner'
import { lockRecord, NEVER } from './records'
import { DriverError, untold, type Row } from './statement'
import { errorKind, LostRace, type StoredTable } from './stored-table'

/** The owner of a row, for one acquisition. */
export interface Holder {
  readonly name: string
  readonly lockedBy: string
  /** Whether `locked_at` is a slot, which can be acquired again if the task never began. */
  readonly hasSlot?: boolean
}

/** What is to be acquired. */
export interface AcquireRequest {
  readonly holder: Holder
  /** In milliseconds. */
  readonly lockAtMostFor: number
  /** In milliseconds since 1970. */
  readonly slot?: number | undefined
  /** The slot may be acquired again if its last run did not succeed. */
  readonly untilSucceeded?: boolean | undefined
}

/** What a statement did or saw; and the row of who holds the lock, if it saw one. */
export interface Acquired {
  readonly outcome: AcquireOutcome
  readonly row?: Row | undefined
}

/** Acquires, extends and releases the rows of one table, and cleans up behind what got no answer. */
export class LockRows {
  readonly #releases: BackgroundReleases

  constructor(readonly table: StoredTable) {
    this.#releases = new BackgroundReleases(table.timeLimit)
  }

  /**
   * Acquires the row, or tells what a statement saw that speaks against it. If nobody knows in the end whether the row was
   * acquired, it is released in the background.
   *
   * @param steps default: those for its slot, or without one
   */
  async acquire(request: AcquireRequest, steps = this.#stepsFor(request)): Promise<Acquired> {
    const { name: lockName } = request.holder
    let isWanted = true
    let write: Promise<Acquired | undefined> | undefined
    const attempt = async (): Promise<Acquired> => {
      for (const step of steps) {
        if (!isWanted) break
        const answer = this.#step(step, request)
        write = step.tells === 'refusal' ? undefined : answer
        const acquired = await answer
        if (acquired?.outcome === 'already-run' && request.untilSucceeded)
          return await (write = this.#acquireAgain(request, () => isWanted))
        if (acquired) return acquired
      }
      throw new LostRace()
    }
    try {
      return await this.table.call({ lockName, attempt })
    } catch (error) {
      isWanted = false
      if (write) this.#releaseLateAcquisition(write, request)
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
    const { outcome } = await this.acquire({ holder, lockAtMostFor: pauseFor, slot: NEVER }, steps)
    return outcome === 'acquired'
  }

  /**
   * @param lease what is left of it is all the time there is
   * @returns whether the row is still the holder's, and lasts at least that long
   */
  async extend({ name, lockedBy }: Holder, lockAtMostFor: number, lease: Lease): Promise<boolean> {
    const attempt = () => this.table.changes(this.table.statements.extend, { name, lockedBy, lockAtMostFor })
    const leaseLeft = lease.remaining()
    return (await this.table.call({ lockName: name, leaseLeft, idempotent: true, attempt })) > 0
  }

  /**
   * Goes on in the background when it fails.
   *
   * @param run how its run ended, as seen from now; `undefined`: nothing ran, and its slot may be acquired again
   * @param expires when its lease is over at the latest
   */
  async release(holder: Holder, run: () => EndedRun | undefined, expires: Lease): Promise<void> {
    const attempt = () => this.#release(holder, run())
    try {
      await this.table.call({ lockName: holder.name, idempotent: true, attempt })
    } catch (error) {
      this.#releases.add({ attempt, lease: expires, mayArriveLater: 'no' })
      throw error
    }
  }

  /** The same in the background alone, for a row that nobody used. */
  releaseUnused(holder: Holder, lockAtMostFor: number): void {
    const attempt = () => this.#release(holder)
    this.#releases.add({ attempt, lease: new Lease(lockAtMostFor), mayArriveLater: 'no' })
  }

  /** Somebody uses the table again after a `drain`. */
  reopen(): void {
    this.#releases.reopen()
  }

  /** Waits for the releases in the background, but not for longer than `timeout` milliseconds, and then abandons them. */
  drain(timeout: number): Promise<void> {
    return this.#releases.drain(timeout)
  }

  /** @returns whether the row was still held by this owner, and is released now */
  async releaseOf({ name, lockedBy }: Holder): Promise<boolean> {
    const values = { name, lockedBy, unlockedBy: endedOwner(lockedBy) }
    const attempt = () => this.table.changes(this.table.statements.releaseHeld, values)
    return (await this.table.call({ lockName: name, attempt })) > 0
  }

  /** @returns `undefined` when the row is not the holder's any more */
  async fencingToken({ name, lockedBy }: Holder, lease: Lease): Promise<number | undefined> {
    const attempt = () => this.table.executor.query(this.table.statements.fencingToken, { name, lockedBy })
    const leaseLeft = lease.remaining()
    const [row] = await this.table.call({ lockName: name, leaseLeft, idempotent: true, attempt })
    return row && Number(row['token'])
  }

  #stepsFor({ slot }: AcquireRequest): readonly AcquireStep[] {
    return slot === undefined ? this.table.statements.acquire : this.table.statements.acquireSlot
  }

  /** @returns `undefined` when it tells nothing, and the next step is to be tried */
  async #step(
    { tells, statement }: AcquireStep,
    { holder, lockAtMostFor, slot }: AcquireRequest,
  ): Promise<Acquired | undefined> {
    const { name, lockedBy } = holder
    // Not spread, here and below: that is 60 times as slow in V8.
    const values = { name, lockedBy, lockAtMostFor, slot }
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
  async #acquireAgain(
    { holder, lockAtMostFor, slot }: AcquireRequest,
    isWanted: () => boolean,
  ): Promise<Acquired> {
    const { name, lockedBy } = holder
    const { acquireAgain, find } = this.table.statements
    if (!isWanted()) throw new LostRace()
    const [row] = await this.table.executor.query(find, { name })
    const seen = row && lockRecord(row)
    if (seen?.held) return { outcome: 'held', row }
    const token = seen?.lastRun && tokenOfRetry(Number(slot), seen.lockedAt.getTime())
    if (!token || seen.lastRun.outcome === 'succeeded') return { outcome: 'already-run' }
    if (!isWanted()) throw new LostRace()
    const as = { seenBy: seen.lockedBy, seenAt: seen.lockedAt.getTime() }
    const values = { name, lockedBy, lockAtMostFor, slot: token, ...as }
    if ((await this.table.changes(acquireAgain, values)) > 0) return { outcome: 'acquired' }
    throw new LostRace()
  }

  /** Nobody waits for this write any more: if it acquired the row, or nobody knows, the row is released. */
  #releaseLateAcquisition(
    write: Promise<Acquired | undefined>,
    { holder, lockAtMostFor }: AcquireRequest,
  ): void {
    const release: BackgroundRelease = {
      attempt: () => this.#release(holder),
      lease: new Lease(lockAtMostFor + this.table.timeLimit),
      mayArriveLater: 'under way',
    }
    // A connection whose other end is gone may tell so only after a quarter of an hour.
    this.#releases.add(release, this.table.timeLimit)
    write.then(
      (answer) => {
        release.mayArriveLater = 'no'
        if (answer?.outcome === 'acquired') this.#releases.hurry(release)
        else this.#releases.remove(release)
      },
      (error: unknown) => {
        release.mayArriveLater = 'unknown'
        if (this.#mayBeDone(error)) this.#releases.hurry(release)
        else this.#releases.remove(release)
      },
    )
  }

  #mayBeDone(error: unknown): boolean {
    return (
      errorKind(this.table.dialect, error) === 'unanswered' && !(error instanceof DriverError && !error.sent)
    )
  }

  #release({ name, lockedBy, hasSlot }: Holder, run?: EndedRun): Promise<number> {
    const { release, releaseLater, releaseUnused } = this.table.statements
    const keepFor = run?.keepFor ?? 0
    const statement = !run && hasSlot ? releaseUnused : keepFor > 0 ? releaseLater : release
    return this.table.changes(statement, { name, lockedBy, unlockedBy: endedOwner(lockedBy, run), keepFor })
  }
}
