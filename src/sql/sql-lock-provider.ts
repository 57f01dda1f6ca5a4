import {
  aBoolean,
  aCount,
  aDuration,
  parseOptions,
  type Acquisition,
  type CheckedLockConfiguration,
  type Duration,
  configurationError,
  clientError,
  LockProvider,
  type OptionParsers,
  type Refusal,
} from '../core/internal'
import { Debts } from './debts'
import { parseDialect } from './dialects'
import type { DialectName } from './dialect'
import { LockRow } from './lock-row'
import { LockTable } from './lock-table'
import { parseLockedBy, defaultLockedBy, newOwner } from './owner'
import { type LockTableOptions, TABLE_OPTIONS, tableSql, title } from './names'
import type { SqlClient } from './session'
import { findTable } from './table/check'
import { TableOperations } from './table/operations'

/** Options of every lock provider that keeps its locks in a table. */
export interface SqlLockProviderOptions extends LockTableOptions {
  /** The readable part of the owner in `locked_by`; a random part follows it. Default `host/process-id`. */
  readonly lockedBy?: string | undefined
  /**
   * How long an acquisition, an extension or a release may take in all, including the wait for the pool, retries and a check of the
   * table. Default 5 seconds. Longer if the process stands still, as during synchronous work.
   */
  readonly timeLimit?: Duration | undefined
  /**
   * How many connections all providers of this client may open at once beside the client's own pool, so that a lock never waits for
   * the app's queries. They have the settings of that pool: TypeORM's on PostgreSQL, CockroachDB, MySQL and MariaDB, and Prisma's with
   * the adapter for pg. Usually there are one or two, none while nothing is locked. `0`: locks use the client's own pool, as they do if
   * the server has no room for another connection. Default 10.
   */
  readonly ownConnections?: number | undefined
  /**
   * Whether the row of a failed run also records the message of the error, beside its code or the name of its class: its first line, cut
   * after 100 characters, in ASCII. Messages of databases' errors are never recorded, and passwords in URLs are hidden, but other secrets
   * in a message are not recognised. Default `false`.
   */
  readonly recordMessages?: boolean | undefined
}

export const SQL_LOCK_PROVIDER_OPTIONS = {
  ...TABLE_OPTIONS,
  lockedBy: parseLockedBy,
  timeLimit: aDuration,
  ownConnections: aCount,
  recordMessages: aBoolean,
} satisfies OptionParsers<SqlLockProviderOptions>

/*
 * The life of a lock
 *
 * Acquire. `acquire` creates a `LockRow` with an owner that no other acquisition has, and sends the dialect's steps, one statement
 * each: a row that is free is changed in one of them, and carries our owner then. The lease begins before that statement is sent, so
 * it ends no later here than in the database. A refusal is a value: who holds the lock, or that its slot has run.
 *
 * Nobody waits. A statement that would wait for a row that another session has locked is an error at once, or changes nothing, which the
 * holder distinguishes from a refusal by one more read. It is repeated after short pauses, so that no session is ended for it, and nothing
 * waits on the server after the call.
 *
 * Something goes wrong. `callDatabase` gives each attempt a session of its own, and `FAILURES` says what to do: repeat the call or
 * not, and when; return the session, end it, or leave its server. What was certainly not executed is repeated until the time limit.
 * So is a read without an answer. An acquisition without an answer is not: a second one could arrive after the release, and acquire the row
 * for nobody.
 *
 * The answer is lost, or late. The caller gets an error, and the row may be held although nobody uses it: a debt. It belongs to the
 * caller and to the provider, and is settled in the background: a release is sent, and sent again, until
 *   - it found the row, which is free then, or
 *   - it found nothing, and the write is known to have been answered, or
 *   - the lease would be over, so the row has expired by itself.
 * If the late answer says that the row was not acquired, nothing is sent at all. All providers of one client of the app share a
 * `ReleaseQueue`: it sends one such release at a time, and waits longer and longer while the database is silent.
 *
 * Run. `HeldLock` (core) is the lock as its task sees it. Its signal aborts when the lease is over on the holder's monotonic clock.
 *
 * Extend. The statement changes the row only while it is ours and its lease is not over, and only prolongs it. Repeating it does no
 * harm, so a lost answer costs nothing. If the row is no longer ours, the lock is lost, and its signal aborts. A late answer never
 * revives it. If nothing changed although the row is still ours, something in the database is in the way: an error.
 *
 * Release. `lock_until` becomes now, or the end of `lockAtLeastFor`, and the owner is replaced by how the run ended. From then on no
 * late statement of ours finds the row. Without an answer it is sent again until the time limit, half of which the first attempt gets.
 * Then the row is a debt: a `Settlement` (debts.ts), which the `ReleaseQueue` sends; their constants say when. Two limits apply
 * within a call: `CONNECTS_WITHIN`, for opening a connection, and those that a statement sets for its server (`settled`, `setting`).
 *
 * Death. If the process dies, nothing is sent. The row expires at `lock_until`, and the next acquisition finds there that its run
 * died.
 *
 * Drain. Every debt is settled as soon as possible, and acquisitions that are under way are waited for, until a timeout. That is
 * final: the debts that remain are left to expire, and nothing more is sent for them. What is acquired after a drain began belongs to
 * the next one. An executor drains its own debts at its shutdown, and the provider those of all callers.
 *
 * A read-only server. A standby, or a former primary, is recognised by an error, or by a column of the read. Its session is ended, so
 * that the pool opens another one, and the call is repeated, but only as often as the `SessionPool` allows.
 */

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
  /** The table, its dialect and how it is reached, for logs, such as `the table shedlock (postgres, by connections of its own)`. */
  override readonly description: string
  /** What operators do with the table: list, find, release, pause and resume locks, find overdue ones, check and create it. */
  readonly table: TableOperations
  readonly #table: LockTable
  /** Those of all callers. */
  #debts: Debts
  readonly #lockedBy: string
  readonly #recordMessages: boolean

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
      throw clientError(
        'SqlLockProvider got no client – pass what sqlClient of shedlock-orm/drivers returns.',
      )
    const known = parseDialect(dialect)
    const parsed = parseOptions(options, SQL_LOCK_PROVIDER_OPTIONS, 'lock provider options')
    const { lockedBy = defaultLockedBy(), timeLimit = 5_000, recordMessages = false } = parsed
    const { ownConnections = 10 } = parsed
    if (timeLimit === 0)
      throw configurationError('timeLimit is 0, so the database could never answer in time – make it longer.')
    const table = tableSql(known, options)
    const tier = known.untried ? ', never tested on a real server' : ''
    const own = ownConnections > 0 ? ', by connections of its own' : ", by the app's pool"
    this.description = `the table ${title(table.names)} (${dialect.name}${tier}${client.open ? own : ''})`
    this.#lockedBy = lockedBy
    this.#recordMessages = recordMessages
    this.#table = new LockTable(client, known, table, findTable, timeLimit, ownConnections)
    this.#debts = new Debts(this.#table.shared)
    this.table = new TableOperations(this.#table, lockedBy, (name, owner) => this.#row(name, [], owner))
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
    let debts = new Debts(this.#table.shared)
    return {
      acquire: (configuration) => {
        if (!debts.isOpen) debts = new Debts(this.#table.shared)
        return this.#row(configuration.name, [debts]).acquire(configuration)
      },
      drain: async (timeout = '10s') => debts.drain(aDuration(timeout, 'timeout')),
    }
  }

  /** @param callers the debts of one caller, besides those of all of them */
  #row(name: string, callers: readonly Debts[] = [], lockedBy = this.#lockedBy): LockRow {
    // A drain is final, so what is acquired after it has begun belongs to the next one.
    if (!this.#debts.isOpen) this.#debts = new Debts(this.#table.shared)
    const debtors = [...callers, this.#debts]
    return new LockRow(this.#table, debtors, name, newOwner(lockedBy), this.#recordMessages)
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
    await this.#debts.drain(aDuration(timeout, 'timeout'))
  }
}
