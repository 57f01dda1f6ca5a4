import type { Lease, LockError } from '../core'
import { Attempts, type Within } from './attempts'
import type { AcquireStep, Dialect } from './dialect'
import { lockRecord, type LockRecord } from './lock-record'
import type { LockStatements } from './lock-statements'
import type { LockTable } from './lock-table'
import type { SqlExecutor } from './sql-executor'
import type { Statement, Values } from './statement'
import { tableProblem } from './table-check'
import type { TableFinding } from './table-finding'
import { inspectTable } from './table-inspection'
import { withTimeLimit } from './time-limit'
import { unlockInBackground } from './unlock-in-background'

type NamedValues = Values & { readonly name: string }

/** How often a lost race is run again before the lock counts as held. */
const CONFLICTS_TO_BEAR = 3

/**
 * What the lock asks of the database, each within the time limit: tells a lost race from an error, repeats what is
 * worth repeating, and cleans up behind an answer that came too late.
 */
export class LockSession {
  readonly #attempts: Attempts
  #tableChecked = false

  constructor(
    private readonly executor: SqlExecutor,
    private readonly dialect: Dialect,
    private readonly table: LockTable,
    private readonly statements: LockStatements,
    timeLimit: number,
  ) {
    this.#attempts = new Attempts(dialect, timeLimit, (error) => {
      this.#tableChecked = false
      return this.#tableProblem((work) => withTimeLimit(timeLimit, work), error).catch(() => undefined)
    })
  }

  /** Looks once whether the table is as the lock needs it; a wrong type could let two hold one lock. */
  async checkTable(): Promise<void> {
    if (this.#tableChecked) return
    const problem = await this.#attempts.repeat(['busy'], undefined, (within) => this.#tableProblem(within))
    if (problem) throw problem
    this.#tableChecked = true
  }

  /** @returns whether the lock was taken; `false` means that somebody else holds it */
  async acquire(values: NamedValues, lease: Lease): Promise<boolean> {
    let conflicts = 0
    return this.#attempts.repeat(['busy'], values.name, async (within) => {
      for (;;) {
        try {
          return await this.#acquireOnce(values, lease, within)
        } catch (error) {
          if (this.#attempts.kindOf(error) !== 'conflict') throw error
          if (++conflicts > CONFLICTS_TO_BEAR) return false
        }
      }
    })
  }

  /** @returns whether the lock is still ours and lasts longer now */
  extend(values: NamedValues): Promise<boolean> {
    return this.#changed(this.statements.extend, values)
  }

  async unlock(values: NamedValues, lease: Lease): Promise<void> {
    const statement = values.lockAtLeastFor ? this.statements.unlockAtLeast : this.statements.unlock
    const unlock = (): Promise<number> => this.executor.execute(statement, values)
    try {
      await this.#attempts.repeat(['busy', 'conflict', 'unanswered'], values.name, (within) =>
        within(unlock()),
      )
    } catch (error) {
      void unlockInBackground(unlock, lease, 'answered')
      throw error
    }
  }

  /** @returns whether the lock was still held by this owner, and is free now */
  release(values: NamedValues): Promise<boolean> {
    return this.#changed(this.statements.release, values)
  }

  list(): Promise<LockRecord[]> {
    return this.#attempts.repeat(['busy'], undefined, async (within) => {
      return (await within(this.executor.query(this.statements.list, {}))).map(lockRecord)
    })
  }

  inspectTable(): Promise<TableFinding[]> {
    return this.#attempts.repeat(['busy'], undefined, (within) =>
      within(inspectTable(this.executor, this.dialect, this.table)),
    )
  }

  #changed(statement: Statement, values: NamedValues): Promise<boolean> {
    return this.#attempts.repeat(['busy', 'conflict'], values.name, async (within) => {
      return (await within(this.executor.execute(statement, values))) > 0
    })
  }

  async #acquireOnce(values: NamedValues, lease: Lease, within: Within): Promise<boolean> {
    for (const step of this.statements.acquire) {
      if (step.kind === 'take' && (await this.#take(step, values, lease, within))) return true
      if (step.kind === 'look' && (await within(this.executor.query(step.statement, values))).length > 0)
        return false
    }
    return false
  }

  /** If nobody knows whether the row was taken, it is given back: else the lock would be held by no one until its lease ends. */
  async #take(step: AcquireStep, values: NamedValues, lease: Lease, within: Within): Promise<boolean> {
    const unlock = (): Promise<number> => this.executor.execute(this.statements.unlock, values)
    const taking = this.executor.execute(step.statement, values).then((changed) => changed > 0)
    try {
      return await within(taking)
    } catch (error) {
      void taking
        .catch((late: unknown) => this.#attempts.kindOf(late) === 'unanswered')
        .then(async (taken) => {
          if (taken) await unlockInBackground(unlock, lease, 'freed')
        })
      throw error
    }
  }

  async #tableProblem(within: Within, cause?: unknown): Promise<LockError | undefined> {
    const { schema, table } = this.table.names
    const described = this.executor.query(this.statements.describe, { schema: schema ?? null, table })
    return tableProblem(this.dialect, this.table, await within(described), cause)
  }
}
