import {
  type Deadline,
  Lease,
  LockError,
  NEVER_ACQUIRED,
  recogniseEveryCopy,
  time,
  tokenOfRetry,
  type Acquisition,
  type CheckedLockConfiguration,
  type Refusal,
} from '../core/internal'
import type { AcquireStep } from './acquire'
import { attemptWithin, type Attempt, type DatabaseCall } from './calls'
import { IN_TRANSACTION, uncountedError, unfitError } from './database-errors'
import { Debts, type Write } from './debts'
import { failureKind, FAILURES, LostRace } from './failures'
import type { LockTable } from './lock-table'
import { describeFailure, endedOwner, LOST, type EndedRun } from './owner'
import { lockHolder, lockRecords } from './records'
import { COLUMN, readNumber, readText, readTime, readWord } from './results'
import type { SqlRow } from './session'
import type { LockValues } from './sql'

/**
 * The database's clock is cut to milliseconds, so its lease may start, and end, up to this much earlier than one that starts before the
 * request is sent.
 */
const CLOCK_STEP = 1

/** What a step may return; `free` decides nothing. */
const OUTCOMES = ['free', 'acquired', 'held', 'already-run', 'slot-too-far-ahead'] as const

/** The outcome of a step; and the row of the holder, or the clock that the slot is too far ahead of, if the step read it. */
interface StepResult {
  readonly outcome: Exclude<(typeof OUTCOMES)[number], 'free'>
  readonly row?: SqlRow | undefined
}

/** How to acquire the row. */
type RowRequest = Pick<CheckedLockConfiguration, 'lockAtMostFor' | 'slot' | 'untilSucceeded'>

/** One row of the lock table, for one acquisition: from the attempt to acquire it until its release. */
export class LockRow implements Acquisition {
  static {
    recogniseEveryCopy(this, 'LockRow')
  }

  /** Over until the row is acquired. Once it is over again, `HeldLock` loses the lock, and neither extends it nor reads its token. */
  lease = new Lease(0)
  #atLeast = this.lease
  /** The longest lease that was requested, because an extension without an answer may still take effect. */
  #longest = 0
  #acquired = 0
  /** How many writes in a row have changed nothing, although the row was this acquisition's. */
  readonly #writes = { withoutEffect: 0 }
  /** Whether a release has found the row, even if its answer came late. */
  #isReleased = false
  /** How many releases were sent. */
  #releases = 0
  /** Whether `locked_at` is a slot, which can be acquired again if the task never started. */
  #hasSlot = false

  /** @param debtors those whose drain settles the debts of this acquisition */
  constructor(
    readonly table: LockTable,
    private readonly debtors: readonly Debts[],
    readonly name: string,
    readonly owner: string,
    private readonly recordMessages = false,
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
    if (outcome === 'slot-too-far-ahead')
      return { reason: outcome, now: readTime(row ?? {}, COLUMN.now).getTime() }
    const holder = row && lockHolder(row)
    return holder ? { reason: outcome, holder } : { reason: outcome }
  }

  /**
   * Acquires the row without a run: `locked_at` does not change, so that the pause is not mistaken for a run.
   *
   * @returns whether the row is paused now
   */
  async pause(lockAtMostFor: number): Promise<boolean> {
    return (await this.#acquire({ lockAtMostFor, slot: NEVER_ACQUIRED }, 'pause')).outcome === 'acquired'
  }

  async extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<Lease | undefined> {
    const lease = new Lease(lockAtMostFor - CLOCK_STEP)
    this.#longest = Math.max(this.#longest, lockAtMostFor)
    const values = { name: this.name, lockedBy: this.owner, lockAtMostFor }
    const changed = await this.#callWhileHeld(async (attempt) => {
      await this.#examine(attempt)
      return this.#checked(attempt, await attempt.changes(this.table.statements.extend, values), true)
    })
    if (changed === 0) return undefined
    if (lockAtLeastFor !== undefined) this.#atLeast = this.#atLeast.lasting(lockAtLeastFor)
    return (this.lease = Lease.longer(this.lease, lease))
  }

  fencingToken(): Promise<number | undefined> {
    return this.#callWhileHeld((attempt) => this.#readToken(attempt))
  }

  async #readToken(attempt: Attempt): Promise<number | undefined> {
    const { name, owner, table } = this
    const [row] = await attempt.query(table.statements.fencingToken, { name, lockedBy: owner })
    return row && readNumber(row, COLUMN.token)
  }

  /** Reads whether the session is fit for a write that no read of the row precedes, where that is not certain. */
  async #examine(attempt: Attempt): Promise<void> {
    const { dialect, statements } = this.table
    if (dialect.unfit) await attempt.query(statements.now)
  }

  /**
   * @param isHeld whether the row is held after a write that changed it
   * @returns how many rows changed
   * @throws LostRace if none did, because another session has locked the row; LockError if none did, although the row is still held by
   *   this acquisition, or if the app may undo the write
   */
  async #checked(attempt: Attempt, changed: number, isHeld = false): Promise<number> {
    if (changed === 0 || attempt.mayJoin) {
      const isOurs = (await this.#readToken(attempt)) !== undefined
      if (changed === 0 && isOurs) throw await this.table.whyUnchanged(attempt, this.name, this.#writes)
      // Only the session that wrote it sees it.
      if (changed > 0 && isHeld && !isOurs && this.lease.remaining() > 0)
        throw unfitError(IN_TRANSACTION, this.name)
    }
    this.#writes.withoutEffect = 0
    return changed
  }

  /** Releases the row. If that fails, the release goes on in the background. @returns see `Acquisition` */
  async unlock(
    outcome: Parameters<Acquisition['unlock']>[0] | 'unlocked' = 'unlocked',
    why?: unknown,
  ): Promise<boolean> {
    const { name, table } = this
    const ended = time.now()
    const thrown = why === undefined ? undefined : describeFailure(why, this.recordMessages)
    const error = thrown ?? (this.lease.remaining() > 0 ? undefined : LOST)
    const release = async (attempt: Attempt): Promise<number> => {
      if (outcome === 'unused') return this.#release(attempt)
      const keepFor = Math.ceil(this.#atLeast.remaining())
      // A release that keeps nothing ends the lease by the holder's clock, if the session has another one.
      if (keepFor > 0) await this.#examine(attempt)
      // The database keeps the row no longer than its lease, which started before the answer arrived; `#atLeast` started after it.
      const isKeptFor = keepFor && Math.min(keepFor, this.lease.remaining() + CLOCK_STEP)
      const heldFor = isKeptFor + time.now() - ended
      const run = { outcome, ranFor: ended - this.#acquired, keepFor, heldFor, error }
      return this.#release(attempt, run)
    }
    try {
      const isRepeatable = () => true
      const changed = await table.call({
        lockName: name,
        precedence: 'release',
        isRepeatable,
        attempt: release,
      })
      return changed > 0 || this.#releases > 1 || this.lease.remaining() === 0
    } catch (error) {
      this.#owe(this.#longest, release)
      throw error
    } finally {
      table.shared.sessions.letGo(this)
    }
  }

  async #acquire({ lockAtMostFor, slot, untilSucceeded }: RowRequest, kind?: 'pause'): Promise<StepResult> {
    const { name, owner, table, debtors } = this
    for (const debtor of debtors) debtor.begin()
    this.#longest = lockAtMostFor
    // No spread, here or in a release, because it is 60 times as slow in V8. `#acquireAgain` runs rarely enough for it.
    const values = { name, lockedBy: owner, lockAtMostFor, slot }
    let write: Write | undefined
    let latest: Attempt | undefined
    const attempt = async (current: Attempt): Promise<StepResult> => {
      latest = current
      if (kind) await this.#examine(current)
      const steps = table.statements[kind ?? (slot === undefined ? 'acquire' : 'acquireSlot')]
      for (const step of steps) {
        // Another attempt is under way.
        if (current.isGivenUp) break
        const lease = new Lease(lockAtMostFor - CLOCK_STEP)
        const answer = runStep(step, values, current)
        if (step.answer !== 'refusal') write = writeOf(answer, table.dialect)
        let result = await answer
        if (result?.outcome === 'already-run' && untilSucceeded) {
          const again = this.#acquireAgain(values, current)
          write = writeOf(again, table.dialect)
          result = await again
        }
        if (result?.outcome === 'slot-too-far-ahead') {
          const [clock] = await current.query(table.statements.now)
          result = { outcome: result.outcome, row: clock }
        }
        // The row was free, but the step before could not change it.
        if (result?.outcome === 'already-run' && kind === 'pause') break
        if (result?.outcome === 'acquired') {
          this.lease = lease
          if (current.mayJoin) await this.#checked(current, 1, true)
          if (!kind && !(current.isGivenUp as boolean)) table.shared.sessions.hold(this)
        }
        if (result) return result
      }
      throw new LostRace()
    }
    const release = (late: Attempt) => this.#release(late)
    // Reads are repeated. But there is at most one write without an answer for each acquisition, because a second one could arrive
    // after the release, and acquire the row again.
    const isRepeatable = (): boolean =>
      latest?.isConnected === true && (write === undefined || write.effect === 'nothing')
    try {
      return await table.call({ lockName: name, isRepeatable, attempt }, 'right')
    } catch (error) {
      if (write && write.effect !== 'nothing') this.#owe(lockAtMostFor + table.timeLimit, release, write)
      throw error
    } finally {
      for (const debtor of debtors) debtor.end()
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
   * Sends the release once, unless an earlier one was answered late.
   *
   * @param run how the run ended; `undefined`: nothing ran, and the slot may be acquired again
   * @returns how many rows the release changed
   */
  async #release(attempt: Attempt, run?: EndedRun): Promise<number> {
    if (this.#isReleased) return 1
    this.#releases++
    const { release, releaseSlot, releaseUnused } = this.table.statements
    const { name, owner } = this
    const statement = !this.#hasSlot ? release : run ? releaseSlot : releaseUnused
    const keepFor = run?.keepFor ?? 0
    const left = Math.floor(this.lease.left())
    // `lockAtLeastFor` began a little later than the lease, so it may outlast it.
    const unexpired = keepFor > 0 ? Math.max(left - keepFor, 0) : left
    const unlockedBy = endedOwner(owner, run)
    const values = { name, lockedBy: owner, unlockedBy, keepFor, unexpired }
    const changed = await this.#checked(attempt, await attempt.changes(statement, values))
    if (changed > 0) this.#isReleased = true
    return changed
  }

  /** Leaves the row to be released in the background. @param longest how long the row may be held */
  #owe(longest: number, attempt: DatabaseCall<number>['attempt'], write?: Write): void {
    const { table, name, debtors } = this
    const { timeLimit, shared } = table
    const call: DatabaseCall<number> = { lockName: name, precedence: 'release', attempt }
    const release = (deadline: Deadline) =>
      attemptWithin(table, call, deadline, { least: 0, takesRest: true, keepsAlive: false })
    Debts.owe({ lease: new Lease(longest), write, timeLimit, release }, debtors, shared)
  }

  /** Limits a call to what is left of the lease, because afterwards it is useless. */
  #callWhileHeld<T>(attempt: DatabaseCall<T>['attempt']): Promise<T> {
    const { name: lockName, table } = this
    const leaseLeft = this.lease.remaining()
    return table.call({ lockName, leaseLeft, precedence: 'held', isRepeatable: () => true, attempt })
  }
}

/** Runs one step. @returns `undefined` if it decides nothing, so that the next step must be tried */
async function runStep(
  { answer, statement }: AcquireStep,
  values: LockValues,
  attempt: Attempt,
): Promise<StepResult | undefined> {
  if (answer === 'acquired')
    return (await attempt.changes(statement, values)) > 0 ? { outcome: 'acquired' } : undefined
  const [row] = await attempt.query(statement, values)
  // A trigger may have returned the first rows.
  if (answer === 'outcome' && row?.[COLUMN.outcome] === undefined) throw uncountedError(attempt.lockName)
  if (!row) return undefined
  // A write that was sent twice has acquired the row, so the next one acquires it again.
  if (readText(row, COLUMN.owner) === values.lockedBy) return undefined
  const outcome = outcomeIn(row)
  if (outcome === 'acquired') attempt.hasWritten = true
  if (outcome === 'free' && answer !== 'refusal') throw new LostRace()
  return outcome === 'free' || outcome === undefined ? undefined : { outcome, row }
}

/** Reads the outcome. The row of a holder has none, but an owner, or the end of its lease, which may be no time. */
function outcomeIn(row: SqlRow): (typeof OUTCOMES)[number] | undefined {
  if (row[COLUMN.outcome] === null) return undefined
  if (row[COLUMN.outcome] !== undefined) return readWord(row, COLUMN.outcome, OUTCOMES)
  return (readText(row, COLUMN.owner) ?? readNumber(row, COLUMN.lockUntil)) === undefined ? 'free' : 'held'
}

/** Notes what a statement did that acquires the row if it arrives. */
function writeOf(answer: Promise<StepResult | undefined>, dialect: LockTable['dialect']): Write {
  const write: { effect: Write['effect']; answered: Promise<void> } = {
    effect: 'pending',
    answered: answer.then(
      (result) => {
        write.effect = result?.outcome === 'acquired' ? 'acquired' : 'nothing'
      },
      (error: unknown) => {
        // Of an error that is not the database's own it is unknown whether the statement was executed.
        const isUnknown =
          error instanceof LockError ||
          FAILURES[failureKind(dialect, error)].repeat === 'later, if repeatable'
        write.effect = isUnknown ? 'lost' : 'nothing'
      },
    ),
  }
  return write
}
