import {
  aDuration,
  checkOptions,
  type Acquisition,
  type CheckedLockConfiguration,
  type Duration,
  invalid,
  invalidClient,
  LockProvider,
  LONGEST_TIMEOUT,
  type OptionChecks,
  type Refusal,
} from '../core/internal'
import { BackgroundReleases, type Queues } from './background-releases'
import { parseDialect, type DialectName } from './dialects'
import { LockRow } from './lock-row'
import { LockTable } from './lock-table'
import { checkLockedBy, defaultLockedBy, newOwner } from './owner'
import { type LockTableOptions, TABLE_OPTIONS, tableSql, title } from './names'
import type { SqlClient } from './session'
import { tableCheck } from './table/check'
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
 * Hands out locks that are rows of a table: a `LockProvider` for any SQL client that has a `SqlClient`. The algorithm:
 *
 * 1. Each lock is a row. Acquiring it changes the row only if `lock_until <= now` by the database's clock. If one row changed, the
 *    lock is ours, and `locked_by` contains an owner that no other acquisition has.
 * 2. The holder trusts its lease from before it sent the request until the lease is over by the process's own monotonic clock.
 * 3. Extending changes the row only while it is ours and the lease is not over, and never shortens the lease.
 * 4. Releasing sets `lock_until` to now, or to the end of `lockAtLeastFor`, and replaces the owner, so that none of our late
 *    statements finds the row again.
 * 5. If the process dies, the lock expires by itself. If it remains unknown whether we acquired the lock, it is released in the
 *    background.
 *
 * Every method that reaches the database rejects with a `LockError` `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`
 * or `DATABASE_ERROR` if something goes wrong.
 */
export class SqlLockProvider extends LockProvider {
  /** The table and the dialect, for logs, such as `the table shedlock (postgres)`. */
  override readonly description: string
  /** What operators do with the table: list, find, release, pause and resume locks, find overdue ones, check and create it. */
  readonly table: TableOperations
  readonly #table: LockTable
  readonly #queues: Queues = { busy: new Set(), state: 'open' }
  /** Of those who call this provider itself. */
  readonly #releases = new BackgroundReleases(this.#queues)
  readonly #lockedBy: string

  /**
   * Creates the provider without connecting to the database.
   *
   * @throws LockError `INVALID_CONFIGURATION` for wrong options, or a dialect that is none of `dialects`; `INVALID_CLIENT` for a
   *   client without `connect`
   */
  constructor(
    client: SqlClient,
    dialect: { readonly name: DialectName },
    options: SqlLockProviderOptions = {},
  ) {
    super()
    if (typeof (client as Partial<SqlClient> | undefined)?.connect !== 'function')
      throw invalidClient(
        'SqlLockProvider got no client – pass what sqlClient of shedlock-orm/drivers returns.',
      )
    const known = parseDialect(dialect)
    const checked = checkOptions(options, SQL_LOCK_PROVIDER_OPTIONS, 'lock provider options')
    const { lockedBy = defaultLockedBy(), timeLimit = 5_000 } = checked
    if (timeLimit === 0)
      throw invalid('timeLimit is 0, so the database could never answer in time – make it longer.')
    const table = tableSql(known, options)
    const tier = known.untried ? ', never tested on a real server' : ''
    this.description = `the table ${title(table.names)} (${dialect.name}${tier})`
    this.#lockedBy = lockedBy
    this.#table = new LockTable(client, known, table, tableCheck(known), Math.min(timeLimit, LONGEST_TIMEOUT))
    this.table = new TableOperations(this.#table, known, lockedBy, (name, owner) =>
      this.#row(name, this.#releases, owner),
    )
  }

  /**
   * Tries to acquire the lock once, for `lock` and the executors.
   *
   * @throws LockError as every method does; the lock was then not acquired, or is released again in the background
   */
  acquire(configuration: CheckedLockConfiguration): Promise<Acquisition | Refusal> {
    return this.#row(configuration.name).acquire(configuration)
  }

  /** Returns the part of this provider that an executor uses, whose `drain` ends only what that executor has begun. */
  override forCaller(): Pick<LockProvider, 'acquire' | 'drain'> {
    const releases = new BackgroundReleases(this.#queues)
    return {
      acquire: (configuration) => this.#row(configuration.name, releases).acquire(configuration),
      drain: async (timeout = '10s') => releases.drain(aDuration(timeout, 'timeout')),
    }
  }

  #row(name: string, releases = this.#releases, lockedBy = this.#lockedBy): LockRow {
    return new LockRow(this.#table, releases, name, newOwner(lockedBy))
  }

  /**
   * Waits for the background releases of locks whose acquisition or release got no answer; after the timeout, leaves these locks to
   * expire. Call it at the end of the process: it sends nothing more to the database until the next lock is acquired.
   * `LockingTaskExecutor.shutdown()` does this for the locks of its executor.
   *
   * @param timeout how long to wait at most. Default 10 seconds
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  override async drain(timeout: Duration = '10s'): Promise<void> {
    const limit = aDuration(timeout, 'timeout')
    const queues = this.#queues
    queues.state = 'draining'
    await Promise.all([this.#releases, ...queues.busy].map((releases) => releases.drain(limit)))
    // Unless a lock was acquired in the meantime.
    if (queues.state === ('draining' as Queues['state'])) queues.state = 'closed'
  }
}
