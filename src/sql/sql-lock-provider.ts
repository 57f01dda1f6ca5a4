import {
  checkDuration,
  checkLockConfiguration,
  checkOptions,
  Lease,
  LockError,
  LONGEST_TIMEOUT,
  spendableLock,
  type Duration,
  type LockConfiguration,
  type LockProvider,
  type SimpleLock,
} from '../core'
import type { Dialect, Pin } from './dialect'
import type { LockRecord } from './lock-record'
import { LockSession } from './lock-session'
import { lockStatements } from './lock-statements'
import { lockTable, TABLE_OPTIONS, type LockTableOptions } from './lock-table'
import { checkLockedBy, defaultLockedBy, newOwner } from './owner'
import { SqlAcquisition } from './sql-acquisition'
import type { SqlExecutor } from './sql-executor'
import type { TableFinding } from './table-finding'

/** Options of every provider that keeps its locks in a table. */
export interface SqlLockProviderOptions extends LockTableOptions {
  /** The readable part of the owner in `locked_by`; a random part follows it. Default `host/process-id`. */
  readonly lockedBy?: string | undefined
  /** How long one step (take, extend, free) may wait for the pool and the database in all. Default 5 seconds. */
  readonly timeLimit?: Duration | undefined
}

/** The keys of `SqlLockProviderOptions`, for those whose own options include them. */
export const SQL_LOCK_PROVIDER_OPTIONS = [...TABLE_OPTIONS, 'lockedBy', 'timeLimit'] as const

/** The database's clock is cut to milliseconds, so a lease may begin that much in the past, and end as much earlier. */
const CLOCK_STEP = 1

/** Hands out locks from a table: a `LockProvider` for any SQL client that has a `SqlExecutor`. */
export class SqlLockProvider implements LockProvider {
  readonly #session: LockSession
  readonly #dialect: Dialect
  readonly #pin: Pin
  readonly #lockedBy: string

  /** @throws LockError `INVALID_CONFIGURATION`. Does not touch the database. */
  constructor(executor: SqlExecutor, dialect: Dialect, options: SqlLockProviderOptions = {}) {
    checkOptions(options, SQL_LOCK_PROVIDER_OPTIONS, 'lock provider options')
    const timeLimit = checkDuration(undefined, 'timeLimit', options.timeLimit ?? '5s')
    if (timeLimit === 0)
      throw new LockError('INVALID_CONFIGURATION', 'timeLimit is 0 – give the database a moment to answer.')
    const table = lockTable(dialect, options)
    this.#lockedBy = checkLockedBy(options.lockedBy ?? defaultLockedBy())
    const statements = lockStatements(dialect, table)
    this.#dialect = dialect
    this.#pin = statements.pin
    this.#session = new LockSession(
      executor,
      dialect,
      table,
      statements,
      Math.min(timeLimit, LONGEST_TIMEOUT),
    )
  }

  /**
   * Asks for the lock once.
   *
   * @returns the lock, or `undefined` if somebody else holds it
   * @throws LockError `INVALID_CONFIGURATION`, `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`,
   *   `DATABASE_ERROR`: in each case the lock was not taken, or is freed again in the background
   */
  async lock(configuration: LockConfiguration): Promise<SimpleLock | undefined> {
    const { name, lockAtMostFor, lockAtLeastFor } = checkLockConfiguration(configuration)
    const values = { name, lockedBy: newOwner(this.#lockedBy), lockAtMostFor }
    await this.#session.checkTable()
    const lease = new Lease(lockAtMostFor - CLOCK_STEP)
    const asked = performance.now()
    if (!(await this.#session.acquire(values, lease))) return undefined
    if (lease.remaining() === 0) {
      throw new LockError(
        'TIMEOUT',
        `The database took longer to give lock '${name}' than the lock lasts (${lockAtMostFor} ms) – make lockAtMostFor longer.`,
        { lockName: name },
      )
    }
    const acquisition = new SqlAcquisition(this.#dialect, this.#pin, values)
    return this.#lock(acquisition, lease, lockAtLeastFor, asked)
  }

  /**
   * Every lock of the table, held or not, in the order of their names: for people and dashboards.
   *
   * @throws LockError `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`
   */
  listLocks(): Promise<LockRecord[]> {
    return this.#session.list()
  }

  /**
   * Frees a lock whose holder is known to be gone, only if it is still held by the owner that `listLocks` showed. A
   * holder that is alive goes on running, and somebody else may start beside it.
   *
   * @returns whether it was freed; `false`: nobody or somebody else holds it now
   * @throws LockError `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`
   */
  releaseLock(name: string, owner: string): Promise<boolean> {
    return this.#session.release({ name, lockedBy: owner })
  }

  /**
   * Looks the lock table over, more closely than the first lock does: columns, types, lengths, key, case of names, and
   * what this user may do. Changes nothing.
   *
   * @returns what is wrong, worst first, with the SQL that mends it; empty when all is well
   * @throws LockError `INVALID_CLIENT`, `TIMEOUT`, `DATABASE_ERROR`
   */
  checkTable(): Promise<TableFinding[]> {
    return this.#session.inspectTable()
  }

  /** @param lockAtLeastFor milliseconds after `locked_at`, which is at or after `asked` on our clock */
  #lock(acquisition: SqlAcquisition, lease: Lease, lockAtLeastFor: number, asked: number): SimpleLock {
    const session = this.#session
    const { values } = acquisition
    return spendableLock({
      name: values.name,
      acquisition,
      remaining: () => lease.remaining(),
      unlock: () => session.unlock({ ...values, lockAtLeastFor }, lease),
      extend: async (lockAtMostFor, atLeastFromNow) => {
        const longer = new Lease(lockAtMostFor - CLOCK_STEP)
        if (!(await session.extend({ ...values, lockAtMostFor }))) return undefined
        // The row remembers when it was locked, not when it was extended.
        const atLeast =
          atLeastFromNow === undefined
            ? lockAtLeastFor
            : Math.ceil(performance.now() - asked) + atLeastFromNow
        return this.#lock(acquisition, longer, atLeast, asked)
      },
    })
  }
}
