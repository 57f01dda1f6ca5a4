import {
  aDuration,
  anObject,
  checkDrain,
  checkLockName,
  checkOptions,
  type AcquireOptions,
  type CheckedLockConfiguration,
  type DrainOptions,
  type Duration,
  invalid,
  isPause,
  LockProvider,
  LONGEST_TIMEOUT,
  type OptionChecks,
  poll,
  type Refusal,
} from '../core/internal'
import { acquireRow, pauseRow, SqlAcquisition } from './acquisition'
import { BackgroundReleases } from './background-releases'
import type { Dialect } from './dialect'
import { LockTable } from './lock-table'
import { checkLockedBy, checkPause, defaultLockedBy, endedOwner, newOwner, type PauseOptions } from './owner'
import { describePlace, placeOf, serverOf } from './place'
import {
  checkOverdueAfter,
  lockHolder,
  lockRecords,
  OVERDUE_OPTIONS,
  overdueLock,
  type LockRecord,
  type OverdueLock,
  type OverdueOptions,
} from './records'
import { SEVERAL_NAMES } from './sql'
import type { SqlExecutor } from './sql-executor'
import type { TableFinding } from './table-check'
import { inspectTable } from './table-inspection'
import { type LockTableOptions, TABLE_OPTIONS, tableSql, title } from './table-names'

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
  readonly #table: LockTable
  readonly #releases: BackgroundReleases
  readonly #lockedBy: string

  /**
   * Creates the provider without connecting to the database.
   *
   * @throws LockError `INVALID_CONFIGURATION`
   */
  constructor(executor: SqlExecutor, dialect: Dialect, options: SqlLockProviderOptions = {}) {
    super()
    const checked = checkOptions(options, SQL_LOCK_PROVIDER_OPTIONS, 'lock provider options')
    const { lockedBy = defaultLockedBy(), timeLimit = 5_000 } = checked
    if (timeLimit === 0)
      throw invalid('timeLimit is 0, so the database could never answer in time – make it longer.')
    const table = tableSql(dialect, options)
    this.description = `the table ${title(table.names)} (${dialect.name})`
    this.#lockedBy = lockedBy
    this.#table = new LockTable(executor, dialect, table, Math.min(timeLimit, LONGEST_TIMEOUT))
    this.#releases = new BackgroundReleases(this.#table.timeLimit)
  }

  /**
   * Tries to acquire the lock once, for `lock` and the executors.
   *
   * @throws LockError as every method does; the lock was then not acquired, or is released again in the background
   */
  async acquire(
    configuration: CheckedLockConfiguration,
    { caller }: AcquireOptions = {},
  ): Promise<SqlAcquisition | Refusal> {
    const { name, slot } = configuration
    this.#releases.use()
    const owned = { name, lockedBy: newOwner(this.#lockedBy), hasSlot: slot !== undefined, caller }
    const { outcome, row, lease } = await acquireRow(this.#table, this.#releases, owned, configuration)
    if (outcome === 'acquired')
      return new SqlAcquisition(this.#table, this.#releases, owned, lease, configuration)
    if (outcome === 'slot-too-far-ahead') return { reason: outcome, now: Number(row?.['now']) }
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

  /** Reads all locks of the table, held or not, in the order of their names: for people and dashboards. */
  async listLocks(): Promise<LockRecord[]> {
    return lockRecords(await this.#table.read(this.#table.statements.list))
  }

  /**
   * Reads one lock of the table, held or not. If the table's collation ignores case, `Report` finds the lock `report`, and the
   * result has the row's own spelling.
   *
   * @returns the lock, or `undefined` if it was never acquired
   */
  async findLock(name: string): Promise<LockRecord | undefined> {
    const [record] = lockRecords(await this.#table.read(this.#table.statements.find, { name }))
    return record
  }

  /**
   * Releases a lock whose holder is known to be gone, if its row has not changed since it was read. A holder that is alive
   * continues without the lock. Does not end a pause; use `resumeLock` for that.
   *
   * @param lock as `findLock` returned it: the lock is released only if it still has this owner and this end of its lease. The
   *   owner alone is not enough: that of a Java service is only its host, and a lock that has been extended since has a holder that
   *   is alive
   * @returns whether it was released; `false`: it is free, has another owner, is paused, or its lease ends at another time
   */
  async releaseLock(lock: SeenLock): Promise<boolean> {
    return !isPause(checkSeen(lock).lockedBy) && this.#releaseSeen(lock)
  }

  async #releaseSeen({ name, lockedBy, lockUntil }: SeenLock): Promise<boolean> {
    const values = { name, lockedBy, unlockedBy: endedOwner(lockedBy), seenUntil: lockUntil.getTime() }
    const changed = await this.#table.call({
      lockName: name,
      attempt: (attempt) => this.#table.changes(this.#table.statements.releaseSeen, values, attempt),
    })
    return changed > 0
  }

  /**
   * Checks the lock table: the types and lengths of its columns, its key, whether names that differ in case are different locks,
   * the times in its rows, and the privileges of this user. Changes nothing.
   *
   * @returns what is wrong, worst first, with the SQL that fixes it; an empty array if nothing is wrong
   */
  checkTable(): Promise<TableFinding[]> {
    return this.#table.call({ attempt: () => inspectTable(this.#table) })
  }

  /** @internal Describes the table for people, such as `table public.shedlock, database app, postgres at db-1`. */
  async place(): Promise<string> {
    const { executor, dialect, sql } = this.#table
    return this.#table.call({
      idempotent: true,
      attempt: async () =>
        describePlace({
          ...(await placeOf(executor, dialect, sql)),
          server: await serverOf(executor, dialect),
        }),
    })
  }

  /**
   * Finds the locks that have not been acquired for too long, because their jobs do not run. A paused lock is not overdue.
   *
   * @param overdueAfter for each lock, how long ago its last acquisition may be: `{ report: '25h', 'clean-up': '10m' }`
   * @param options whether the last run must have succeeded, and how long a run may last
   * @returns the locks that were acquired longer ago, never, or at a time in the future, and those that violate `options`, in the
   *   order of `overdueAfter`; an empty array if there are none
   * @throws LockError `INVALID_CONFIGURATION`
   */
  async overdueLocks(
    overdueAfter: Readonly<Record<string, Duration>>,
    options: OverdueOptions = {},
  ): Promise<OverdueLock[]> {
    const more = checkOptions(options, OVERDUE_OPTIONS, 'options of overdueLocks')
    const checked = checkOverdueAfter(overdueAfter)
    const locks = await this.#findLocks([...checked.keys()])
    return [...checked].flatMap(([name, after]) => overdueLock(name, after, locks.get(name), more) ?? [])
  }

  /** Reads several locks at a time, but not the whole table, which may have a row for each tenant. */
  async #findLocks(names: readonly string[]): Promise<ReadonlyMap<string, LockRecord>> {
    const found = new Map<string, LockRecord>()
    for (let begin = 0; begin < names.length; begin += SEVERAL_NAMES.length) {
      const some = names.slice(begin, begin + SEVERAL_NAMES.length)
      const values = Object.fromEntries(SEVERAL_NAMES.map((key, index) => [key, some[index] ?? some[0]]))
      const records = lockRecords(await this.#table.read(this.#table.statements.findSeveral, values))
      for (const record of records) found.set(record.name, record)
      // Under a collation that ignores case, the row may spell the name differently, so the database has to compare it.
      for (const name of some.filter((spelling) => !found.has(spelling))) {
        const record = await this.findLock(name)
        if (record) found.set(name, record)
      }
    }
    return found
  }

  /**
   * Pauses a job: acquires its lock without a run, so that every instance skips it, including Java services. The pause lasts until
   * `resumeLock` is called or its duration is over; it does not end with this process. `lockedAt` does not change.
   *
   * @returns whether this call paused the job; `false`: its lock is already held or paused, see `findLock`
   * @throws LockError `INVALID_CONFIGURATION`, or as every method does; the job is then not paused, or is resumed in the background
   */
  async pauseLock(name: string, options: PauseOptions): Promise<boolean> {
    const { lockedBy, duration, wait } = checkPause(checkLockName(name), options, this.#lockedBy)
    this.#releases.use()
    const pause = () =>
      pauseRow(this.#table, this.#releases, { name, lockedBy: newOwner(lockedBy) }, duration)
    return wait ? poll(pause, (paused) => paused, wait) : pause()
  }

  /**
   * Ends the pause of a job.
   *
   * @param lock the name of the lock, to end any pause; or the lock as `findLock` returned it, to end only this pause
   * @returns whether this call ended a pause; `false`: the job was not paused, or its row has changed since it was read
   */
  async resumeLock(lock: string | SeenLock): Promise<boolean> {
    const seen = typeof lock === 'string' ? await this.findLock(lock) : checkSeen(lock)
    return seen !== undefined && isPause(seen.lockedBy) && this.#releaseSeen(seen)
  }

  /**
   * Creates the lock table unless it exists, as the migration does. Any number of processes may call it at the same time, and each
   * succeeds. On Spanner it needs TypeORM.
   *
   * @throws LockError `TABLE_MISMATCH` if another table has this name, or as every method does
   */
  createTable(): Promise<void> {
    return this.#table.create()
  }
}

/** A lock as it was read: what `findLock` and `listLocks` return. */
export type SeenLock = Pick<LockRecord, 'name' | 'lockedBy' | 'lockUntil'>

/** @throws LockError `INVALID_CONFIGURATION` */
function checkSeen(lock: SeenLock): SeenLock {
  const { name, lockedBy, lockUntil } = anObject(lock, 'The lock')
  if (typeof lockedBy === 'string' && lockUntil instanceof Date && !Number.isNaN(lockUntil.getTime()))
    return lock
  throw invalid(`This is not a lock as it was read – pass what findLock('${name}') returned.`, name)
}
