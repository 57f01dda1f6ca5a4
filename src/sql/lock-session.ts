import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, LONGEST_TIMEOUT, type Lease } from '../core'
import { Attempts } from './attempts'
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

type NamedValues = Values & { readonly name: string }

/** How often a lost race is run again before the lock counts as held. */
const CONFLICTS_TO_BEAR = 3
const FIRST_PAUSE = 100
const LONGEST_PAUSE_AFTER_ERROR = 30_000

/**
 * What the lock asks of the database, each within the time limit: tells a lost race from an error, repeats what is
 * worth repeating, and cleans up behind an answer that came too late.
 */
export class LockSession {
  readonly #attempts: Attempts
  #tableChecked = false

  constructor(
    private readonly sql: SqlExecutor,
    private readonly dialect: Dialect,
    private readonly table: LockTable,
    private readonly statements: LockStatements,
    timeLimit: number,
  ) {
    this.#attempts = new Attempts(dialect, timeLimit, (error) => {
      this.#tableChecked = false
      return this.#tableProblem(() => timeLimit, error).catch(() => undefined)
    })
  }

  /** Looks once whether the table is as the lock needs it; a wrong type could let two hold one lock. */
  async checkTable(): Promise<void> {
    if (this.#tableChecked) return
    const problem = await this.#attempts.repeat([], undefined, (left) => this.#tableProblem(left))
    if (problem) throw problem
    this.#tableChecked = true
  }

  /** @returns whether the lock was taken; `false` means that somebody else holds it */
  async acquire(values: NamedValues, lease: Lease): Promise<boolean> {
    let conflicts = 0
    return this.#attempts.repeat(['busy'], values.name, async (left) => {
      for (;;) {
        try {
          return await this.#acquireOnce(values, lease, left)
        } catch (error) {
          if (this.#attempts.kindOf(error) !== 'conflict') throw error
          if (++conflicts > CONFLICTS_TO_BEAR) return false
        }
      }
    })
  }

  /** @returns whether the lock is still ours and lasts longer now */
  extend(values: NamedValues): Promise<boolean> {
    return this.#attempts.repeat(['busy', 'conflict'], values.name, async (left) => {
      return (await withTimeLimit(left(), this.sql.execute(this.statements.extend, values))) > 0
    })
  }

  async unlock(values: NamedValues, lease: Lease): Promise<void> {
    const statement = values.lockAtLeastFor ? this.statements.unlockAtLeast : this.statements.unlock
    try {
      await this.#attempts.repeat(['busy', 'conflict', 'unanswered'], values.name, (left) =>
        withTimeLimit(left(), this.sql.execute(statement, values)),
      )
    } catch (error) {
      void this.#releaseInBackground(statement, values, lease, () => true)
      throw error
    }
  }

  /** @returns whether the lock was still held by this owner, and is free now */
  release(values: NamedValues): Promise<boolean> {
    return this.#attempts.repeat(['busy', 'conflict'], values.name, async (left) => {
      return (await withTimeLimit(left(), this.sql.execute(this.statements.release, values))) > 0
    })
  }

  list(): Promise<LockRecord[]> {
    return this.#attempts.repeat(['busy'], undefined, async (left) => {
      return (await withTimeLimit(left(), this.sql.query(this.statements.list, {}))).map(lockRecord)
    })
  }

  inspectTable(): Promise<TableFinding[]> {
    return this.#attempts.repeat(['busy'], undefined, (left) =>
      withTimeLimit(left(), inspectTable(this.sql, this.dialect, this.table)),
    )
  }

  async #acquireOnce(values: NamedValues, lease: Lease, left: () => number): Promise<boolean> {
    for (const step of this.statements.acquire) {
      if (step.kind === 'take' && (await this.#take(step, values, lease, left))) return true
      if (
        step.kind === 'look' &&
        (await withTimeLimit(left(), this.sql.query(step.statement, values))).length > 0
      )
        return false
    }
    return false
  }

  /** If nobody knows whether the row was taken, it is given back: else the lock would be held by no one until its lease ends. */
  async #take(step: AcquireStep, values: NamedValues, lease: Lease, left: () => number): Promise<boolean> {
    const taking = this.sql.execute(step.statement, values).then((changed) => changed > 0)
    try {
      return await withTimeLimit(left(), taking)
    } catch (error) {
      void taking
        .catch((late: unknown) => this.#attempts.kindOf(late) === 'unanswered')
        .then((taken) =>
          taken
            ? this.#releaseInBackground(this.statements.unlock, values, lease, (changed) => changed > 0)
            : undefined,
        )
      throw error
    }
  }

  /**
   * Until the lease is over and there is nothing left to free. An acquire whose connection broke may still wait for the
   * row inside the server: a release that finds nothing has to come again, later and later. Keeps no process alive.
   */
  async #releaseInBackground(
    statement: Statement,
    values: NamedValues,
    lease: Lease,
    done: (changed: number) => boolean,
  ): Promise<void> {
    for (let pause = FIRST_PAUSE; lease.remaining() > 0; pause *= 2) {
      try {
        if (done(await this.sql.execute(statement, values))) return
      } catch (error) {
        if (error instanceof LockError) return
        pause = Math.min(pause, LONGEST_PAUSE_AFTER_ERROR)
      }
      await sleep(Math.min(pause, lease.remaining(), LONGEST_TIMEOUT), undefined, { ref: false })
    }
  }

  async #tableProblem(left: () => number, cause?: unknown): Promise<LockError | undefined> {
    const { schema, table } = this.table.names
    const described = this.sql.query(this.statements.describe, { schema: schema ?? null, table })
    return tableProblem(this.dialect, this.table, await withTimeLimit(left(), described), cause)
  }
}
