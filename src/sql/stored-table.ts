import { inTime, LockError, sleep, time } from '../core'
import { databaseError, errorKind, NoAnswer, timeout, untold, withName } from './call-errors'
import type { Dialect, LockTable } from './dialect'
import { DriverError, raw, type Row, type SqlExecutor, type Statement, type Values } from './statement'
import { lockStatements, type LockStatements } from './statements'
import { tableDefinition } from './table'
import { tableProblem } from './table-check'

const PAUSES = { first: 2, longest: 100 }
/** A shorter attempt is of no use. In milliseconds. */
const SHORTEST_ATTEMPT = 200

/** One request to the database, with its repeats. */
export interface DatabaseCall<T> {
  /** The lock that it is about, for the message of an error. Default: the lock table. */
  readonly lockName?: string | undefined
  /** Sends it once. */
  readonly attempt: () => Promise<T>
  /** Executed twice it changes no more: it is repeated though nobody knows what became of it. */
  readonly idempotent?: boolean
  /** What is left of the lock's lease, in milliseconds: when it is over, the call is of no use. */
  readonly leaseLeft?: number
  /** Checks before it, until one check succeeds, whether the table is as the lock needs it; with a wrong type two could hold one lock. */
  readonly checksTable?: boolean
}

/** One lock table in its database: checks and creates it, and sends its statements. */
export class StoredTable {
  readonly statements: LockStatements
  #isRight = false

  /** @param timeLimit of one call, in milliseconds */
  constructor(
    readonly executor: SqlExecutor,
    readonly dialect: Dialect,
    readonly table: LockTable,
    readonly timeLimit: number,
  ) {
    this.statements = lockStatements(dialect, table)
  }

  /**
   * Repeats until there is an answer, an error after which it is not repeated, or no time left: all of it ends within the time limit,
   * a check of the table too.
   *
   * @throws LockError `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`, or what the client says of itself
   */
  async call<T>(call: DatabaseCall<T>): Promise<T> {
    const { lockName } = call
    const deadline = time.now() + this.#limitOf(call)
    const look = (cause?: unknown) =>
      this.#repeat({ lockName, attempt: () => this.#problem(cause) }, deadline)
    try {
      if (call.checksTable && !this.#isRight) {
        const problem = await look()
        if (problem) throw withName(problem, lockName)
        this.#isRight = true
      }
      return await this.#repeat(call, deadline)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      // An error that the server answered may have a more specific reason: the table.
      this.#isRight = false
      const problem = await look(error.cause).catch(() => undefined)
      throw problem ? withName(problem, lockName) : databaseError(error, lockName)
    }
  }

  /** The rows that a statement reads: of one lock, if the values have its name. */
  read(statement: Statement, values: Values = {}): Promise<readonly Row[]> {
    return this.call({ lockName: values.name, attempt: () => this.executor.query(statement, values) })
  }

  /** @returns how many rows a write changed; sent once */
  async changes(statement: Statement, values: Values): Promise<number> {
    if (!this.dialect.counted) return changedRows(await this.executor.execute(statement, values))
    const [row] = await this.executor.query(statement, values)
    return changedRows(row?.['changed'] ?? NaN)
  }

  /** Makes the table unless it is there. However many sessions do it at the same time, each succeeds. */
  async create(): Promise<void> {
    const before = await this.call({ attempt: () => this.#problem() })
    if (!before) return
    if (before.code !== 'TABLE_MISSING') throw before
    try {
      for (const statement of tableDefinition(this.dialect, this.table.names).up)
        await this.call({ attempt: () => this.executor.execute(raw(statement), {}) })
    } catch (error) {
      // Another session may have been faster.
      const after = await this.call({ attempt: () => this.#problem(error) })
      if (after) throw after.code === 'TABLE_MISSING' ? error : after
    }
  }

  /**
   * Where an attempt without an answer may be repeated, each gets half of the time that is left: one that got lost leaves time for
   * others, on other connections.
   *
   * @throws LockError as `call` does; DriverError for an answer after which it is not repeated
   */
  async #repeat<T>(call: DatabaseCall<T>, deadline: number): Promise<T> {
    const { lockName, attempt, idempotent = false } = call
    let inTheWay: unknown
    for (let pause = PAUSES.first; ; pause = Math.min(pause * 2, PAUSES.longest)) {
      const left = deadline - time.now()
      const each = Math.max(1, idempotent ? Math.min(left, Math.max(left / 2, SHORTEST_ATTEMPT)) : left)
      try {
        return await inTime(attempt(), each, () => new NoAnswer(`no answer within ${Math.round(each)} ms`))
      } catch (error) {
        if (error instanceof LockError) throw withName(error, lockName)
        const kind = errorKind(this.dialect, error)
        if (kind === 'refused') throw error
        if (kind === 'transient') inTheWay = error
        const isRepeated = idempotent || kind === 'transient'
        if (!isRepeated || time.now() + pause >= deadline) {
          if (kind === 'unanswered' && !(error instanceof NoAnswer)) throw databaseError(error, lockName)
          // The last attempt may have been cut short: what the others were told says more.
          const limit = this.#limitOf(call)
          throw timeout(inTheWay ?? error, lockName, limit, limit < this.timeLimit)
        }
      }
      await sleep(time.jittered(pause))
    }
  }

  #limitOf({ leaseLeft = this.timeLimit }: DatabaseCall<unknown>): number {
    return Math.min(this.timeLimit, leaseLeft)
  }

  async #problem(cause?: unknown): Promise<LockError | undefined> {
    const { schema = null, tableName } = this.table.names
    const described = await this.executor.query(this.statements.describe, { schema, table: tableName })
    return tableProblem(this.dialect, this.table, described, cause)
  }
}

/** @throws LockError `INVALID_CLIENT` when a client did not say how many rows a statement changed */
export function changedRows(count: unknown): number {
  const changed = Number(count)
  if (Number.isSafeInteger(changed)) return changed
  throw untold()
}
