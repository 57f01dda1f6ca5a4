import {
  Lease,
  recogniseEveryCopy,
  time,
  tokenOfRetry,
  type Acquisition,
  type CheckedLockConfiguration,
  type UnlockOptions,
} from '../core/internal'
import { runStep, type AcquireStep, type StepResult } from './acquire'
import type { BackgroundRelease, BackgroundReleases } from './background-releases'
import { errorKind, LostRace, type DatabaseCall } from './calls'
import type { LockTable } from './lock-table'
import { endedOwner, type EndedRun } from './owner'
import { lockRecords, NEVER } from './records'
import type { LockValues } from './sql'
import { DriverError, type Attempt } from './sql-executor'

/** One row of the lock table, for one acquisition. */
export interface OwnedRow {
  readonly name: string
  readonly lockedBy: string
  /** Whether `locked_at` is a slot, which can be acquired again if the task never started. */
  readonly hasSlot?: boolean
  /** For whom it is acquired, as in `AcquireOptions`. */
  readonly caller?: object | undefined
}

/** How to acquire the row. */
type RowRequest = Pick<CheckedLockConfiguration, 'lockAtMostFor' | 'slot' | 'untilSucceeded'>

/** The database's clock is cut to milliseconds, so its lease may start, and end, up to this much earlier. */
const CLOCK_STEP = 1

/** Starts the lease that the holder may trust. Call it before the request is sent. */
function leaseOf(lockAtMostFor: number): Lease {
  return new Lease(lockAtMostFor - CLOCK_STEP)
}

/**
 * Acquires a row, or returns why it cannot be acquired. If it remains unknown whether the row was acquired, releases it in the
 * background.
 *
 * @param steps default: those for a slot if the request has one, otherwise those without
 * @returns the result of the last step, and the lease of a row that it acquired, which started before the step was sent
 */
export async function acquireRow(
  table: LockTable,
  releases: BackgroundReleases,
  owned: OwnedRow,
  { lockAtMostFor, slot, untilSucceeded }: RowRequest,
  steps = slot === undefined ? table.statements.acquire : table.statements.acquireSlot,
): Promise<StepResult & { readonly lease: Lease }> {
  const { name, lockedBy } = owned
  // No spread, here or in a release, because it is 60 times as slow in V8. `acquireAgain` runs rarely enough for it.
  const values = { name, lockedBy, lockAtMostFor, slot }
  let write: Promise<StepResult | undefined> | undefined
  const attempt = async (current: Attempt) => {
    for (const step of steps) {
      const lease = leaseOf(lockAtMostFor)
      const answer = runStep(step, values, table, current)
      write = step.answer === 'refusal' ? undefined : answer
      let result = await answer
      if (current.isAbandoned) break
      if (result?.outcome === 'already-run' && untilSucceeded)
        result = await (write = acquireAgain(table, values, current))
      if (result?.outcome === 'slot-too-far-ahead') {
        const [clock] = await table.executor.query(table.statements.now, values, current)
        result = { outcome: result.outcome, row: clock }
      }
      if (result) return { outcome: result.outcome, row: result.row, lease }
    }
    throw new LostRace()
  }
  try {
    return await table.call({ lockName: name, attempt }, true)
  } catch (error) {
    if (write) releaseLate(table, releases, owned, lockAtMostFor, write)
    throw error
  }
}

/**
 * Acquires the row without a run: `locked_at` does not change, so that the pause is not mistaken for a run.
 *
 * @returns whether the row is paused now
 */
export async function pauseRow(
  table: LockTable,
  releases: BackgroundReleases,
  owned: OwnedRow,
  lockAtMostFor: number,
): Promise<boolean> {
  const { pause, acquireSlot } = table.statements
  // `NEVER` is earlier than every slot, so these steps acquire the lock only if it has no row.
  const steps: AcquireStep[] = [{ answer: 'acquired', statement: pause }, ...acquireSlot]
  const { outcome } = await acquireRow(table, releases, owned, { lockAtMostFor, slot: NEVER }, steps)
  return outcome === 'acquired'
}

/** Acquires a slot that was acquired before, unless the lock is held or the slot's run has succeeded. */
async function acquireAgain(table: LockTable, values: LockValues, attempt: Attempt): Promise<StepResult> {
  const { acquireAgain: statement, find } = table.statements
  const rows = await table.executor.query(find, values, attempt)
  const [seen] = lockRecords(rows)
  if (seen?.held) return { outcome: 'held', row: rows[0] }
  const token = seen?.lastRun && tokenOfRetry(Number(values.slot), seen.lockedAt.getTime())
  if (!token || seen.lastRun.outcome === 'succeeded') return { outcome: 'already-run' }
  if (attempt.isAbandoned) throw new LostRace()
  const again = { ...values, slot: token, seenBy: seen.lockedBy, seenAt: seen.lockedAt.getTime() }
  if ((await table.changes(statement, again, attempt)) > 0) return { outcome: 'acquired' }
  throw new LostRace()
}

/**
 * Sends the release once.
 *
 * @param run how the run ended; `undefined`: nothing ran, and the slot may be acquired again
 * @returns how many rows the release changed
 */
function releaseRow(
  table: LockTable,
  { name, lockedBy, hasSlot }: OwnedRow,
  run?: EndedRun,
  attempt?: Attempt,
): Promise<number> {
  const { release, releaseLater, releaseSlot, releaseSlotLater, releaseUnused } = table.statements
  const keepFor = run?.keepFor ?? 0
  const [now, later] = hasSlot ? [releaseSlot, releaseSlotLater] : [release, releaseLater]
  const statement = !run && hasSlot ? releaseUnused : keepFor > 0 ? later : now
  return table.changes(statement, { name, lockedBy, unlockedBy: endedOwner(lockedBy, run), keepFor }, attempt)
}

/** Handles a write whose caller has given up: if it acquires the row, or its outcome remains unknown, the row is released. */
function releaseLate(
  table: LockTable,
  releases: BackgroundReleases,
  owned: OwnedRow,
  lockAtMostFor: number,
  write: Promise<StepResult | undefined>,
): void {
  const release: BackgroundRelease = {
    attempt: () => releaseRow(table, owned),
    caller: owned.caller,
    lease: new Lease(lockAtMostFor + table.timeLimit),
    mayArriveLater: 'under way',
  }
  // Do not wait for the write to fail first: with a dead connection that may take a quarter of an hour.
  releases.add(release, table.timeLimit)
  write.then(
    (answer) => {
      release.mayArriveLater = 'no'
      if (answer?.outcome === 'acquired') releases.hurry(release)
      else releases.remove(release)
    },
    (error: unknown) => {
      release.mayArriveLater = 'unknown'
      const isUnanswered = errorKind(table.dialect, error) === 'unanswered'
      if (isUnanswered && !(error instanceof DriverError && !error.sent)) releases.hurry(release)
      else releases.remove(release)
    },
  )
}

/** One acquired row, which its holder extends and releases. */
export class SqlAcquisition implements Acquisition {
  static {
    recogniseEveryCopy(this, 'SqlAcquisition')
  }

  /** The longest lease that was requested, because an extension without an answer may still take effect. */
  #longest: number
  #atLeast: Lease
  readonly #acquired = time.now()
  readonly #releases: BackgroundReleases

  /** @param lease started before the request was sent; the answer has just arrived */
  constructor(
    readonly table: LockTable,
    releases: BackgroundReleases,
    readonly row: OwnedRow,
    public lease: Lease,
    { lockAtMostFor, lockAtLeastFor }: CheckedLockConfiguration,
  ) {
    this.#releases = releases
    this.#longest = lockAtMostFor
    this.#atLeast = new Lease(lockAtLeastFor)
  }

  async extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<Lease | undefined> {
    const lease = leaseOf(lockAtMostFor)
    this.#longest = Math.max(this.#longest, lockAtMostFor)
    const { name, lockedBy } = this.row
    const values = { name, lockedBy, lockAtMostFor }
    const changed = await this.#callWhileHeld((attempt) =>
      this.table.changes(this.table.statements.extend, values, attempt),
    )
    if (changed === 0) return undefined
    if (lockAtLeastFor !== undefined) this.#atLeast = this.#atLeast.lasting(lockAtLeastFor)
    if (lease.remaining() > this.lease.remaining()) this.lease = lease
    return this.lease
  }

  async fencingToken(): Promise<number | undefined> {
    const { executor, statements } = this.table
    const { name, lockedBy } = this.row
    const [row] = await this.#callWhileHeld((attempt) =>
      executor.query(statements.fencingToken, { name, lockedBy }, attempt),
    )
    const token = row?.['token'] ?? undefined
    return token === undefined ? undefined : Number(token)
  }

  /** Releases the row. If that fails, the release goes on in the background. */
  async unlock(outcome: UnlockOptions['outcome']): Promise<void> {
    const ended = time.now()
    const ranFor = ended - this.#acquired
    const run = (): EndedRun | undefined => {
      if (outcome === 'unused') return undefined
      const keepFor = Math.ceil(this.#atLeast.remaining())
      // The database keeps the row no longer than its lease, which started before the answer arrived; `#atLeast` started after it.
      const kept = Math.min(keepFor, this.lease.remaining() + CLOCK_STEP)
      return { outcome: outcome ?? 'unlocked', ranFor, keepFor, heldFor: kept + time.now() - ended }
    }
    const attempt = (current?: Attempt) => releaseRow(this.table, this.row, run(), current)
    try {
      await this.table.call({ lockName: this.row.name, idempotent: true, attempt })
    } catch (error) {
      const { caller } = this.row
      this.#releases.add({ attempt, caller, lease: new Lease(this.#longest), mayArriveLater: 'no' })
      throw error
    }
  }

  /** Limits a call to what is left of the lease, because afterwards it is useless. */
  #callWhileHeld<T>(attempt: DatabaseCall<T>['attempt']): Promise<T> {
    const leaseLeft = this.lease.remaining()
    return this.table.call({ lockName: this.row.name, leaseLeft, idempotent: true, attempt })
  }
}
