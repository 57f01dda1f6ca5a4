import {
  Lease,
  NEVER_ACQUIRED as NEVER,
  recogniseEveryCopy,
  time,
  tokenOfRetry,
  type Acquisition,
  type CheckedLockConfiguration,
  type Refusal,
} from '../core/internal'
import { runStep, type StepResult } from './acquire'
import type { BackgroundRelease, BackgroundReleases } from './background-releases'
import { attemptWithin, errorKind, LostRace, NoAnswer, type Attempt, type DatabaseCall } from './calls'
import { unchanged } from './database-errors'
import type { LockTable } from './lock-table'
import { endedOwner, type EndedRun } from './owner'
import { lockHolder, lockRecords } from './records'
import type { LockValues } from './sql'

/**
 * The database's clock is cut to milliseconds, so its lease may start, and end, up to this much earlier than one that starts before the
 * request is sent.
 */
const CLOCK_STEP = 1

/** Doubled for each release that fell silent: how long to wait before one more. In milliseconds. */
const SEVERAL_SILENT = 30_000

/** How to acquire the row. */
type RowRequest = Pick<CheckedLockConfiguration, 'lockAtMostFor' | 'slot' | 'untilSucceeded'>

/** One row of the lock table, for one acquisition: from the attempt to acquire it until its release. */
export class LockRow implements Acquisition {
  static {
    recogniseEveryCopy(this, 'LockRow')
  }

  /** Over until the row is acquired. */
  lease = new Lease(0)
  #atLeast = this.lease
  /** The longest lease that was requested, because an extension without an answer may still take effect. */
  #longest = 0
  #acquired = 0
  /** Whether `locked_at` is a slot, which can be acquired again if the task never started. */
  #hasSlot = false

  constructor(
    readonly table: LockTable,
    private readonly releases: BackgroundReleases,
    readonly name: string,
    readonly lockedBy: string,
  ) {}

  /**
   * Acquires the row, or returns why it cannot be acquired. If it remains unknown whether the row was acquired, releases it in the
   * background.
   */
  async acquire(configuration: CheckedLockConfiguration): Promise<this | Refusal> {
    this.#hasSlot = configuration.slot !== undefined
    const { outcome, row } = await this.#acquire(configuration)
    if (outcome === 'acquired') {
      this.#acquired = time.now()
      this.#atLeast = new Lease(configuration.lockAtLeastFor)
      return this
    }
    if (outcome === 'slot-too-far-ahead') return { reason: outcome, now: Number(row?.['now']) }
    const holder = row && lockHolder(row)
    return holder ? { reason: outcome, holder } : { reason: outcome }
  }

  /**
   * Acquires the row without a run: `locked_at` does not change, so that the pause is not mistaken for a run.
   *
   * @returns whether the row is paused now
   */
  async pause(lockAtMostFor: number): Promise<boolean> {
    return (await this.#acquire({ lockAtMostFor, slot: NEVER }, true)).outcome === 'acquired'
  }

  async extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<Lease | undefined> {
    const lease = new Lease(lockAtMostFor - CLOCK_STEP)
    this.#longest = Math.max(this.#longest, lockAtMostFor)
    const values = { name: this.name, lockedBy: this.lockedBy, lockAtMostFor }
    const changed = await this.#callWhileHeld(async (attempt) =>
      this.#checked(attempt, await attempt.changes(this.table.statements.extend, values)),
    )
    if (changed === 0) return undefined
    if (lockAtLeastFor !== undefined) this.#atLeast = this.#atLeast.lasting(lockAtLeastFor)
    if (lease.remaining() > this.lease.remaining()) this.lease = lease
    return this.lease
  }

  fencingToken(): Promise<number | undefined> {
    return this.#callWhileHeld((attempt) => this.#readToken(attempt))
  }

  async #readToken(attempt: Attempt): Promise<number | undefined> {
    const { name, lockedBy, table } = this
    const [row] = await attempt.query(table.statements.fencingToken, { name, lockedBy })
    const token = row?.['token'] ?? undefined
    return token === undefined ? undefined : Number(token)
  }

  /** @returns how many rows changed. @throws LockError if none did, although the row is still held by this acquisition */
  async #checked(attempt: Attempt, changed: number): Promise<number> {
    if (changed === 0 && (await this.#readToken(attempt)) !== undefined) throw unchanged()
    return changed
  }

  /** Releases the row. If that fails, the release goes on in the background. */
  async unlock(outcome: Parameters<Acquisition['unlock']>[0] | 'unlocked' = 'unlocked'): Promise<void> {
    const ended = time.now()
    const send = (attempt: Attempt): Promise<number> => {
      if (outcome === 'unused') return this.#release(attempt)
      const keepFor = Math.ceil(this.#atLeast.remaining())
      // The database keeps the row no longer than its lease, which started before the answer arrived; `#atLeast` started after it.
      const kept = Math.min(keepFor, this.lease.remaining() + CLOCK_STEP)
      const heldFor = kept + time.now() - ended
      return this.#release(attempt, { outcome, ranFor: ended - this.#acquired, keepFor, heldFor })
    }
    const release = async (attempt: Attempt) => this.#checked(attempt, await send(attempt))
    try {
      await this.table.call({ lockName: this.name, idempotent: true, attempt: release })
    } catch (error) {
      this.releases.add(this.#inBackground(this.#longest, 'ours', release))
      throw error
    }
  }

  async #acquire({ lockAtMostFor, slot, untilSucceeded }: RowRequest, pauses = false): Promise<StepResult> {
    const { name, lockedBy, table } = this
    this.releases.begin()
    this.#longest = lockAtMostFor
    // No spread, here or in a release, because it is 60 times as slow in V8. `#acquireAgain` runs rarely enough for it.
    const values = { name, lockedBy, lockAtMostFor, slot }
    let write: Promise<StepResult | undefined> | undefined
    const attempt = async (current: Attempt): Promise<StepResult> => {
      const { acquire, acquireSlot, pause } = table.statements
      let steps = slot === undefined ? acquire : acquireSlot
      if (pauses) steps = pause
      for (const step of steps) {
        const lease = new Lease(lockAtMostFor - CLOCK_STEP)
        const answer = runStep(step, values, current)
        write = step.answer === 'refusal' ? undefined : answer
        let result = await answer
        if (result?.outcome === 'already-run' && untilSucceeded)
          result = await (write = this.#acquireAgain(values, current))
        if (result?.outcome === 'slot-too-far-ahead') {
          const [clock] = await current.query(table.statements.now)
          result = { outcome: result.outcome, row: clock }
        }
        if (result?.outcome === 'acquired') this.lease = lease
        if (result) return result
      }
      throw new LostRace()
    }
    try {
      return await table.call({ lockName: name, attempt }, 'right')
    } catch (error) {
      if (write) this.#releaseLate(write)
      throw error
    } finally {
      this.releases.end()
    }
  }

  /** Acquires a slot that was acquired before, unless the lock is held or the slot's run has succeeded. */
  async #acquireAgain(values: LockValues, attempt: Attempt): Promise<StepResult> {
    const { acquireAgain: statement, find } = this.table.statements
    const rows = await attempt.query(find, values)
    const [seen] = lockRecords(rows)
    if (seen?.held) return { outcome: 'held', row: rows[0] }
    const token = seen?.lastRun && tokenOfRetry(Number(values.slot), seen.lockedAt.getTime())
    if (!token || seen.lastRun.outcome === 'succeeded') return { outcome: 'already-run' }
    const again = { ...values, slot: token, seenBy: seen.lockedBy, seenAt: seen.lockedAt.getTime() }
    if ((await attempt.changes(statement, again)) > 0) return { outcome: 'acquired' }
    throw new LostRace()
  }

  /**
   * Sends the release once.
   *
   * @param run how the run ended; `undefined`: nothing ran, and the slot may be acquired again
   * @returns how many rows the release changed
   */
  #release(attempt: Attempt, run?: EndedRun): Promise<number> {
    const { release, releaseSlot, releaseUnused } = this.table.statements
    const { name, lockedBy } = this
    const statement = !this.#hasSlot ? release : run ? releaseSlot : releaseUnused
    const keepFor = run?.keepFor ?? 0
    return attempt.changes(statement, { name, lockedBy, unlockedBy: endedOwner(lockedBy, run), keepFor })
  }

  /** Handles a write whose caller has given up: if it acquires the row, or its outcome remains unknown, the row is released. */
  #releaseLate(write: Promise<StepResult | undefined>): void {
    const { timeLimit, dialect } = this.table
    const release = this.#inBackground(this.#longest + timeLimit, 'acquiring', (attempt) =>
      this.#release(attempt),
    )
    // Do not wait for the write to fail first: with a dead connection that may take a quarter of an hour.
    this.releases.add(release, timeLimit)
    write.then(
      (answer) => {
        if (answer?.outcome === 'acquired') this.releases.hurry(release, 'ours')
        else this.releases.remove(release)
      },
      (error: unknown) => {
        if (errorKind(dialect, error) === 'unanswered') this.releases.hurry(release, 'lost')
        else this.releases.remove(release)
      },
    )
  }

  #inBackground(
    longest: number,
    state: BackgroundRelease['state'],
    attempt: DatabaseCall<number>['attempt'],
  ): BackgroundRelease {
    const { table, name } = this
    let underWay = 0
    let again = 0
    const send = async (limit: number): Promise<number> => {
      // One connection may be silent. If two do not answer, the row is probably locked, and more would only wait behind them. As
      // those two may be silent as well, another one is tried after two minutes, then after four, and so on.
      if (underWay > 1 && time.now() < again) throw new NoAnswer(`${underWay} releases are still under way`)
      try {
        const most = Math.min(limit, table.timeLimit)
        return await attemptWithin(most, { lockName: name, attempt }, table, false)
      } catch (error) {
        if (error instanceof NoAnswer && error.underWay) {
          underWay++
          again = time.now() + SEVERAL_SILENT * 2 ** underWay
          void error.underWay.then(() => underWay--)
        }
        throw error
      }
    }
    return { attempt: send, lease: new Lease(longest), state }
  }

  /** Limits a call to what is left of the lease, because afterwards it is useless. */
  #callWhileHeld<T>(attempt: DatabaseCall<T>['attempt']): Promise<T> {
    const leaseLeft = this.lease.remaining()
    return this.table.call({ lockName: this.name, leaseLeft, idempotent: true, attempt })
  }
}
