import { inTime, LockError, sleep, time } from '../core'
import type { Dialect, LockTable } from './dialect'
import { DriverError, raw, type Row, type SqlExecutor, type Statement, type Values } from './statement'
import { lockStatements, type LockStatements } from './statements'
import { tableDefinition } from './table'
import { tableProblem } from './table-check'

const PAUSES = { first: 2, longest: 100 }
/** A shorter attempt is of no use. In milliseconds. */
const SHORTEST_ATTEMPT = 200

const NO_ANSWER =
  'check whether the connection pool is exhausted (a lock needs a connection besides those of open transactions), or the database is blocked.'
const LEASE_IS_OVER =
  'that was all that was left of its lease. Extend it earlier, or make lockAtMostFor longer.'

class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** Thrown by an attempt when somebody else was faster. */
export class LostRace extends Error {
  override readonly name = 'LostRace'

  constructor() {
    super('others were faster')
  }
}

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
   * Repeats until there is an answer, an error after which it is not repeated, or no time left.
   *
   * @throws LockError `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`, or what the client says of itself
   */
  async call<T>(call: DatabaseCall<T>): Promise<T> {
    try {
      return await callDatabase(this.dialect, this.timeLimit, call)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      // An error that the server answered may have a more specific reason: the table.
      this.#isRight = false
      const look = { attempt: () => this.#problem(error.cause) }
      const problem = await callDatabase(this.dialect, this.timeLimit, look).catch(() => undefined)
      throw problem ? withName(problem, call.lockName) : databaseError(error, call.lockName)
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

  /** Checks once whether the table is as the lock needs it; with a wrong type two could hold one lock. */
  async refuseWrong(lockName: string): Promise<void> {
    if (this.#isRight) return
    const problem = await this.call({ lockName, attempt: () => this.#problem() })
    if (problem) throw withName(problem, lockName)
    this.#isRight = true
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

/** For an answer that does not tell what became of a statement. */
export function untold(): LockError {
  return new LockError(
    'INVALID_CLIENT',
    'This client does not tell how many rows a statement changed, so nobody would know whether a lock was acquired – use a client or a driver that does, and no trigger that returns rows.',
  )
}

/**
 * What an error says about its statement. `transient`: it changed nothing, and may be tried again. `unanswered`: nobody knows
 * what became of it. `refused`: every other answer of the server.
 */
type ErrorKind = 'transient' | 'unanswered' | 'refused'

export function errorKind({ transientErrors }: Dialect, error: unknown): ErrorKind {
  if (error instanceof LostRace) return 'transient'
  const { code } = driverErrorOf(error)
  if (code === undefined) return 'unanswered'
  return code in transientErrors ? 'transient' : 'refused'
}

/**
 * Repeats until there is an answer, an error after which it is not repeated, or no time left. Where an attempt without an answer
 * may be repeated, each gets half of the time that is left: one that got lost leaves time for others, on other connections.
 *
 * @param timeLimit how long it may take in all, in milliseconds
 * @throws LockError `TIMEOUT`, `DATABASE_ERROR`, or what the client says of itself; DriverError of the kind `refused`
 */
async function callDatabase<T>(
  dialect: Dialect,
  timeLimit: number,
  { lockName, attempt, idempotent = false, leaseLeft = timeLimit }: DatabaseCall<T>,
): Promise<T> {
  const limit = Math.min(timeLimit, leaseLeft)
  const deadline = time.now() + limit
  let inTheWay: unknown
  for (let pause = PAUSES.first; ; pause = Math.min(pause * 2, PAUSES.longest)) {
    const left = deadline - time.now()
    const each = Math.max(1, idempotent ? Math.min(left, Math.max(left / 2, SHORTEST_ATTEMPT)) : left)
    try {
      return await inTime(attempt(), each, () => new NoAnswer(`no answer within ${Math.round(each)} ms`))
    } catch (error) {
      if (error instanceof LockError) throw withName(error, lockName)
      const kind = errorKind(dialect, error)
      if (kind === 'refused') throw error
      if (kind === 'transient') inTheWay = error
      const isRepeated = idempotent || kind === 'transient'
      if (!isRepeated || time.now() + pause >= deadline) {
        if (kind === 'unanswered' && !(error instanceof NoAnswer)) throw databaseError(error, lockName)
        // The last attempt may have been cut short: what the others were told says more.
        throw timeout(inTheWay ?? error, lockName, limit, leaseLeft < timeLimit)
      }
    }
    await sleep(time.jittered(pause))
  }
}

function timeout(error: unknown, lockName: string | undefined, limit: number, endsWithLease: boolean) {
  const what = `${subject(lockName)} within ${Math.round(limit)} ms`
  if (error instanceof NoAnswer) {
    const why = endsWithLease ? LEASE_IS_OVER : NO_ANSWER
    return new LockError('TIMEOUT', `The database did not answer about ${what} – ${why}`, {
      lockName,
      cause: error,
    })
  }
  const { message, cause } = driverErrorOf(error)
  return new LockError(
    'TIMEOUT',
    `The database was too busy to serve ${what}: ${message} – check whether its table is locked, or another transaction keeps its row.`,
    { lockName, cause },
  )
}

function databaseError(error: unknown, lockName?: string): LockError {
  const { code, message, cause } = driverErrorOf(error)
  const what =
    code === undefined
      ? `The connection to the database failed at a statement for ${subject(lockName)}`
      : `The database answered a statement for ${subject(lockName)} with error ${code}`
  return new LockError('DATABASE_ERROR', `${what}: ${message}`, { lockName, cause })
}

/** The same error with the name of its lock. */
export function withName(error: LockError, lockName: string | undefined): LockError {
  if (lockName === undefined || error.lockName !== undefined) return error
  return new LockError(error.code, error.message, { lockName, cause: error.cause })
}

function driverErrorOf(error: unknown): DriverError {
  return error instanceof DriverError ? error : new DriverError(undefined, error)
}

function subject(lockName: string | undefined): string {
  return lockName === undefined ? 'the lock table' : `lock '${lockName}'`
}
