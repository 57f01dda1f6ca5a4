import {
  aDuration,
  checkDrain,
  checkOptions,
  type AcquireOptions,
  type Acquisition,
  type CheckedLockConfiguration,
  type DrainOptions,
  type Duration,
  invalid,
  LockProvider,
  LONGEST_TIMEOUT,
  type OptionChecks,
  type Refusal,
  slotTooFarAhead,
} from '../core/internal'
import { acquireRow, SqlAcquisition } from './acquisition'
import { BackgroundReleases } from './background-releases'
import type { Dialect, DialectName } from './dialect'
import { LockTable } from './lock-table'
import { checkLockedBy, defaultLockedBy, newOwner } from './owner'
import { lockHolder } from './records'
import type { SqlExecutor } from './sql-executor'
import { type LockTableOptions, TABLE_OPTIONS, tableSql, title } from './table/names'
import { TableOperations } from './table/operations'

/** Options of every lock provider that keeps its locks in a table. */
export interface SqlLockProviderOptions extends LockTableOptions {
  /** The readable part of the owner in `locked_by`; a random part follows it. Default `host/process-id`. */
  readonly lockedBy?: string | undefined
  /**
   * How long an acquisition, an extension or a release may take in all, including the wait for the pool, retries and a check of the
   * table. Default 5 seconds.
   */
  readonly timeLimit?: Duration | undefined
}

export const SQL_LOCK_PROVIDER_OPTIONS = {
  ...TABLE_OPTIONS,
  lockedBy: checkLockedBy,
  timeLimit: aDuration,
} satisfies OptionChecks<SqlLockProviderOptions>

/**
 * Hands out locks that are rows of a table: a `LockProvider` for any SQL client that has a `SqlExecutor`. Every method that reaches
 * the database rejects with a `LockError` `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT` or `DATABASE_ERROR` if
 * something goes wrong.
 */
export class SqlLockProvider extends LockProvider {
  /** The table and the dialect, for logs, such as `the table shedlock (postgres)`. */
  override readonly description: string
  /** What operators do with the table: list, find, release, pause and resume locks, find overdue ones, check and create it. */
  readonly table: TableOperations
  readonly #table: LockTable
  readonly #releases: BackgroundReleases
  readonly #lockedBy: string

  /**
   * Creates the provider without connecting to the database.
   *
   * @throws LockError `INVALID_CONFIGURATION`
   */
  constructor(
    executor: SqlExecutor,
    dialect: { readonly name: DialectName },
    options: SqlLockProviderOptions = {},
  ) {
    super()
    const known = dialect as Dialect
    const checked = checkOptions(options, SQL_LOCK_PROVIDER_OPTIONS, 'lock provider options')
    const { lockedBy = defaultLockedBy(), timeLimit = 5_000 } = checked
    if (timeLimit === 0)
      throw invalid('timeLimit is 0, so the database could never answer in time – make it longer.')
    const table = tableSql(known, options)
    this.description = `the table ${title(table.names)} (${dialect.name})`
    this.#lockedBy = lockedBy
    this.#table = new LockTable(executor, known, table, Math.min(timeLimit, LONGEST_TIMEOUT))
    this.#releases = new BackgroundReleases(this.#table.timeLimit)
    this.table = new TableOperations(this.#table, this.#releases, lockedBy)
  }

  /**
   * Tries to acquire the lock once, for `lock` and the executors.
   *
   * @throws LockError as every method does; the lock was then not acquired, or is released again in the background
   */
  async acquire(
    configuration: CheckedLockConfiguration,
    { caller }: AcquireOptions = {},
  ): Promise<Acquisition | Refusal> {
    const { name, slot } = configuration
    this.#releases.use()
    const owned = { name, lockedBy: newOwner(this.#lockedBy), hasSlot: slot !== undefined, caller }
    const { outcome, row, lease } = await acquireRow(this.#table, this.#releases, owned, configuration)
    if (outcome === 'acquired')
      return new SqlAcquisition(this.#table, this.#releases, owned, lease, configuration)
    if (outcome === 'slot-too-far-ahead') throw slotTooFarAhead(name, Number(slot), Number(row?.['now']))
    const holder = row && lockHolder(row)
    return holder ? { reason: outcome, holder } : { reason: outcome }
  }

  /**
   * Waits for the background releases of locks whose acquisition or release got no answer; after the timeout, leaves these locks to
   * expire. Call it at the end of the process: it sends nothing more to the database until the next lock is acquired.
   * `LockingTaskExecutor.shutdown()` does this for the locks of its executor.
   *
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  override async drain(options: DrainOptions = {}): Promise<void> {
    const { timeout, caller } = checkDrain(options)
    await this.#releases.drain(timeout, caller)
  }
}
