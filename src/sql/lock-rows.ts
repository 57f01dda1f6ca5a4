import { Lease, time, type LockError } from '../core'
import { Asking, half, InVain, type Outcome } from './asking'
import { changedRows } from './changed-rows'
import type { AcquireOutcome, AcquireStep, Dialect } from './dialect'
import { errorKind } from './error-kind'
import type { Holder, OnSeen, TakeOutcome } from './holder'
import { lockRecord, type LockRecord } from './lock-record'
import type { LockStatements } from './lock-statements'
import type { LockTable } from './lock-table'
import { makeTable } from './make-table'
import { unlockedOwner } from './owner'
import { NEVER } from './pause'
import type { SqlExecutor } from './sql-executor'
import type { Statement, Values } from './statement'
import { tableProblem } from './table-check'
import type { TableFinding } from './table-finding'
import { inspectTable } from './table-inspection'

/** How often a lost race is retried before the lock counts as held. */
const CONFLICTS_TO_BEAR = 3
/** Safe to retry when the outcome is unknown: done twice, it changes no more than done once. */
const INSIST: readonly Outcome[] = ['busy', 'conflict', 'unanswered', 'late']

/** What the lock asks of its table. Each is one question, with its time limit and what has to be cleaned up behind it. */
export class LockRows {
  readonly #asking: Asking
  #tableSeen = false

  constructor(
    private readonly executor: SqlExecutor,
    private readonly dialect: Dialect,
    private readonly table: LockTable,
    private readonly statements: LockStatements,
    private readonly timeLimit: number,
    private readonly slotAtMostAhead: number,
  ) {
    this.#asking = new Asking(dialect, (error) => {
      this.#tableSeen = false
      return this.#tableProblem(error)
    })
  }

  /** Makes the table unless it is there. */
  createTable(): Promise<void> {
    const problem = (cause?: unknown) => this.#read(() => this.#tableProblem(cause))
    return makeTable(this.dialect, this.table, this.executor, this.#asking, this.timeLimit, problem)
  }

  /** Looks once whether the table is as the lock needs it; a wrong type could let two hold one lock. */
  async refuseWrongTable(): Promise<void> {
    if (this.#tableSeen) return
    const problem = await this.#read(() => this.#tableProblem())
    if (problem) throw problem
    this.#tableSeen = true
  }

  /** @param onSeen gets the row of who holds the lock, if a statement has seen it */
  take(holder: Holder, lockAtMostFor: number, slot?: number, onSeen?: OnSeen): Promise<TakeOutcome> {
    const { acquire, acquireSlot } = this.statements
    return this.#take(slot === undefined ? acquire : acquireSlot, holder, lockAtMostFor, slot, onSeen)
  }

  /**
   * Takes the lock without a run: `locked_at` stays, so that nobody takes the pause for one.
   *
   * @returns whether it is the holder's now
   */
  async pause(holder: Holder, lockAtMostFor: number): Promise<boolean> {
    const { pause, acquireSlot } = this.statements
    // A slot before every other is given only where there is no row.
    const steps: AcquireStep[] = [{ kind: 'take', statement: pause }, ...acquireSlot]
    return (await this.#take(steps, holder, lockAtMostFor, NEVER)) === 'taken'
  }

  #take(
    steps: readonly AcquireStep[],
    holder: Holder,
    lockAtMostFor: number,
    slot?: number,
    onSeen?: OnSeen,
  ): Promise<TakeOutcome> {
    const { name, lockedBy } = holder
    // Not spread: V8 takes 60 times as long for that.
    const values = { name, lockedBy, lockAtMostFor, slot, slotAtMostAhead: this.slotAtMostAhead }
    let taking: Promise<AcquireOutcome> | undefined
    const run = (step: AcquireStep): Promise<AcquireOutcome> => {
      const outcome = this.#outcome(step, values, onSeen)
      if (step.kind !== 'look') taking = outcome
      return outcome
    }
    return this.#asking.ask({
      lockName: holder.name,
      within: this.timeLimit,
      again: ['busy'],
      attempt: async (wanted) => {
        for (let conflicts = 0; conflicts <= CONFLICTS_TO_BEAR && wanted(); conflicts++) {
          try {
            for (const step of steps) {
              if (!wanted()) return 'held'
              const outcome = await run(step)
              if (outcome !== 'free') return outcome
            }
            // Another was faster; with a slot it is not known what became of that.
            if (slot === undefined) return 'held'
          } catch (error) {
            if (errorKind(this.dialect, error) !== 'conflict') throw error
          }
        }
        return 'held'
      },
      late: () => {
        if (taking) void this.#freeBehind(taking, holder, lockAtMostFor)
      },
    })
  }

  /**
   * @param lease what is left of it is all the time there is
   * @returns whether the row is still the holder's, and lasts at least that long
   */
  async extend(holder: Holder, lockAtMostFor: number, lease: Lease): Promise<boolean> {
    const { name, lockedBy } = holder
    const attempt = () => this.#changes(this.statements.extend, { name, lockedBy, lockAtMostFor })
    return (await this.#insist(holder, lease.remaining(), attempt)) > 0
  }

  /**
   * Goes on in the background when it fails.
   *
   * @param lockAtLeastFor milliseconds after `locked_at` before which the row is not free; `unused`: free at once, and the
   *   slot with it
   * @param reach until when the row may be held if it is not released
   */
  async unlock(holder: Holder, lockAtLeastFor: number | 'unused', reach: Lease): Promise<void> {
    try {
      await this.#insist(holder, this.timeLimit, () => this.#unlock(holder, lockAtLeastFor))
    } catch (error) {
      void this.#free(holder, lockAtLeastFor, reach, () => false)
      throw error
    }
  }

  /**
   * Releases a row that was acquired for nothing, in the background.
   *
   * @param mayStillTake whether the statement that takes the row may still wait inside the server: then an unlock that finds
   *   nothing has to come again
   */
  free(holder: Holder, lockAtMostFor: number, mayStillTake = (): boolean => false): Promise<void> {
    return this.#free(holder, 'unused', new Lease(lockAtMostFor), mayStillTake)
  }

  /** @returns whether the row was still held by this owner, and is free now */
  async release(holder: Holder): Promise<boolean> {
    const changed = await this.#asking.ask({
      lockName: holder.name,
      within: this.timeLimit,
      again: ['busy', 'conflict'],
      attempt: () => this.#unlock(holder, 0),
    })
    return changed > 0
  }

  /** @returns `undefined` when the row is not the holder's any more */
  async fencingToken(holder: Holder, lease: Lease): Promise<number | undefined> {
    const attempt = () => this.executor.query(this.statements.fencingToken, holder)
    const [row] = await this.#insist(holder, lease.remaining(), attempt)
    return row && Number(row['token'])
  }

  async list(): Promise<LockRecord[]> {
    const rows = await this.#read(() => this.executor.query(this.statements.list, {}))
    return rows.map(lockRecord)
  }

  inspect(): Promise<TableFinding[]> {
    return this.#read(() => inspectTable(this.executor, this.dialect, this.table))
  }

  #insist<T>({ name }: Holder, left: number, attempt: () => Promise<T>): Promise<T> {
    const within = Math.min(this.timeLimit, left)
    const endsWithLease = left < this.timeLimit
    return this.#asking.ask({ lockName: name, within, endsWithLease, each: half, again: INSIST, attempt })
  }

  #read<T>(attempt: () => Promise<T>): Promise<T> {
    return this.#asking.ask({ within: this.timeLimit, again: ['busy'], attempt })
  }

  async #outcome({ kind, statement }: AcquireStep, values: Values, onSeen?: OnSeen): Promise<AcquireOutcome> {
    if (kind === 'take') return (await this.#changes(statement, values)) > 0 ? 'taken' : 'free'
    const [row] = await this.executor.query(statement, values)
    if (!row) return 'free'
    onSeen?.(row)
    return (row['outcome'] ?? 'held') as AcquireOutcome
  }

  /** If nobody knows whether the row was taken, it is given back: else it would be held by no one until its lease ends. */
  async #freeBehind(taking: Promise<AcquireOutcome>, holder: Holder, lockAtMostFor: number): Promise<void> {
    let answered = false
    // A connection whose other end is gone may tell so only after a quarter of an hour.
    const silent = (): void => void this.free(holder, lockAtMostFor, () => !answered)
    const cancel = time.after(this.timeLimit, silent, false)
    const outcome = await taking.catch((error: unknown) =>
      errorKind(this.dialect, error) === 'unanswered' ? 'perhaps' : 'free',
    )
    answered = true
    cancel()
    if (outcome === 'taken') await this.free(holder, lockAtMostFor)
    if (outcome === 'perhaps') await this.free(holder, lockAtMostFor, () => true)
  }

  async #free(
    holder: Holder,
    lockAtLeastFor: number | 'unused',
    reach: Lease,
    mayStillTake: () => boolean,
  ): Promise<void> {
    const freeing = this.#asking.ask({
      lockName: holder.name,
      within: Math.max(reach.remaining(), this.timeLimit),
      each: () => this.timeLimit,
      again: [...INSIST, 'refused', 'in vain'],
      background: true,
      attempt: async () => {
        const changed = await this.#unlock(holder, lockAtLeastFor)
        if (changed === 0 && mayStillTake()) throw new InVain()
      },
    })
    // The lease releases it, then.
    await freeing.catch(() => undefined)
  }

  #unlock(holder: Holder, lockAtLeastFor: number | 'unused'): Promise<number> {
    const { unlock, unlockAtLeast, giveBack } = this.statements
    const { name, lockedBy } = holder
    const unlockedBy = unlockedOwner(lockedBy)
    const values = { name, lockedBy, unlockedBy }
    if (lockAtLeastFor === 'unused') return this.#changes(holder.hasSlot ? giveBack : unlock, values)
    return lockAtLeastFor > 0
      ? this.#changes(unlockAtLeast, { name, lockedBy, unlockedBy, lockAtLeastFor })
      : this.#changes(unlock, values)
  }

  async #changes(statement: Statement, values: Values): Promise<number> {
    if (!this.dialect.counted) return changedRows(await this.executor.execute(statement, values))
    const [row] = await this.executor.query(statement, values)
    return changedRows(row?.['changed'] ?? NaN)
  }

  async #tableProblem(cause?: unknown): Promise<LockError | undefined> {
    const { schema, table } = this.table.names
    const described = await this.executor.query(this.statements.describe, { schema: schema ?? null, table })
    return tableProblem(this.dialect, this.table, described, cause)
  }
}
