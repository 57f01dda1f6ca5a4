import type { Lease, LockError } from '../core'
import { Asking, half, InVain, type Outcome } from './asking'
import type { AcquireStep, AcquireOutcome, Dialect } from './dialect'
import { errorKind, type ErrorKind } from './error-kind'
import type { Holder } from './holder'
import { lockRecord, type LockRecord } from './lock-record'
import type { LockStatements } from './lock-statements'
import type { LockTable } from './lock-table'
import { makeTable } from './make-table'
import { unlockedOwner } from './owner'
import { NEVER } from './pause'
import { changedRows, type SqlExecutor } from './sql-executor'
import type { Statement, Values } from './statement'
import { tableProblem } from './table-check'
import type { TableFinding } from './table-finding'
import { inspectTable } from './table-inspection'
import { take, type LockRequest, type Seen, type Taken } from './taking'

/** Safe to retry when the outcome is unknown: done twice, it changes no more than done once. */
const INSIST: readonly Outcome[] = ['busy', 'conflict', 'unanswered', 'late']

/** What the lock asks of its table. Each is one question, with its time limit and what has to be cleaned up behind it. */
export class LockRows {
  readonly #asking: Asking
  #tableSeen = false

  constructor(
    private readonly executor: SqlExecutor,
    readonly dialect: Dialect,
    private readonly table: LockTable,
    readonly statements: LockStatements,
    readonly timeLimit: number,
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

  take(request: LockRequest): Promise<Taken> {
    const { acquire, acquireSlot } = this.statements
    return take(this, this.#asking, request.slot === undefined ? acquire : acquireSlot, request)
  }

  /**
   * Takes the lock without a run: `locked_at` stays, so that nobody takes the pause for one.
   *
   * @returns whether it is the holder's now
   */
  async pause(holder: Holder, pauseFor: number): Promise<boolean> {
    const { pause, acquireSlot } = this.statements
    // A slot before every other is given only where there is no row.
    const steps: AcquireStep[] = [{ kind: 'take', statement: pause }, ...acquireSlot]
    const request = { holder, lockAtMostFor: pauseFor, slot: NEVER }
    return (await take(this, this.#asking, steps, request)).outcome === 'taken'
  }

  /**
   * @param lease what is left of it is all the time there is
   * @returns whether the row is still the holder's, and lasts at least that long
   */
  async extend({ name, lockedBy }: Holder, lockAtMostFor: number, lease: Lease): Promise<boolean> {
    const attempt = () => this.#changes(this.statements.extend, { name, lockedBy, lockAtMostFor })
    return (await this.#insist(name, lease.remaining(), attempt)) > 0
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
      await this.#insist(holder.name, this.timeLimit, () => this.#unlock(holder, lockAtLeastFor))
    } catch (error) {
      void this.free(holder, lockAtLeastFor, reach)
      throw error
    }
  }

  /**
   * The same in the background alone: rejects never.
   *
   * @param mayStillTake whether the statement that takes the row may still wait inside the server: then an unlock that finds
   *   nothing has to come again
   */
  async free(
    holder: Holder,
    lockAtLeastFor: number | 'unused',
    reach: Lease,
    mayStillTake = (): boolean => false,
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
  async fencingToken({ name, lockedBy }: Holder, lease: Lease): Promise<number | undefined> {
    const attempt = () => this.executor.query(this.statements.fencingToken, { name, lockedBy })
    const [row] = await this.#insist(name, lease.remaining(), attempt)
    return row && Number(row['token'])
  }

  async list(): Promise<LockRecord[]> {
    const rows = await this.#read(() => this.executor.query(this.statements.list, {}))
    return rows.map(lockRecord)
  }

  inspect(): Promise<TableFinding[]> {
    return this.#read(() => inspectTable(this.executor, this.dialect, this.table))
  }

  /** Takes one step towards a lock. */
  async see({ kind, statement }: AcquireStep, { holder, lockAtMostFor, slot }: LockRequest): Promise<Seen> {
    const { name, lockedBy } = holder
    // Not spread, here and below: V8 takes 60 times as long for that.
    const values = { name, lockedBy, lockAtMostFor, slot, slotAtMostAhead: this.slotAtMostAhead }
    if (kind === 'take') return { outcome: (await this.#changes(statement, values)) > 0 ? 'taken' : 'free' }
    const [row] = await this.executor.query(statement, values)
    return { outcome: row ? ((row['outcome'] ?? 'held') as AcquireOutcome) : 'free', row }
  }

  errorKind(error: unknown): ErrorKind {
    return errorKind(this.dialect, error)
  }

  #insist<T>(lockName: string, left: number, attempt: () => Promise<T>): Promise<T> {
    const within = Math.min(this.timeLimit, left)
    const endsWithLease = left < this.timeLimit
    return this.#asking.ask({ lockName, within, endsWithLease, each: half, again: INSIST, attempt })
  }

  #read<T>(attempt: () => Promise<T>): Promise<T> {
    return this.#asking.ask({ within: this.timeLimit, again: ['busy'], attempt })
  }

  #unlock({ name, lockedBy, hasSlot }: Holder, lockAtLeastFor: number | 'unused'): Promise<number> {
    const { unlock, unlockAtLeast, giveBack } = this.statements
    const unlockedBy = unlockedOwner(lockedBy)
    const values = { name, lockedBy, unlockedBy }
    if (lockAtLeastFor === 'unused') return this.#changes(hasSlot ? giveBack : unlock, values)
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
