import {
  checkDuration,
  checkLockConfiguration,
  checkLockName,
  checkOptions,
  createLock,
  type Duration,
  invalid,
  type Lock,
  type LockConfiguration,
  LockError,
  type LockOptions,
  type LockProvider,
  LONGEST_TIMEOUT,
  poll,
  type ShutdownOptions,
  slotTooFarAhead,
} from '../core'
import type { Dialect, LockTableOptions } from './dialect'
import { LockRows, SqlAcquisition } from './lock-rows'
import { checkLockedBy, checkPause, defaultLockedBy, endedOwner, newOwner, type PauseOptions } from './owner'
import {
  checkLimits,
  lockHolder,
  lockRecord,
  overdueLock,
  type LockRecord,
  type OverdueLock,
  type OverdueOptions,
} from './records'
import type { SqlExecutor } from './statement'
import { StoredTable } from './stored-table'
import { lockTable, TABLE_OPTIONS, title } from './table'
import type { TableFinding } from './table-check'
import { inspectTable } from './table-inspection'

/** Options of every lock provider that keeps its locks in a table. */
export interface SqlLockProviderOptions extends LockTableOptions {
  /** The readable part of the owner in `locked_by`; a random part follows it. Default `host/process-id`. */
  readonly lockedBy?: string | undefined
  /**
   * How long an acquisition, an extension or a release may take in all: the wait for the pool, retries, a check of the table. Default 5
   * seconds.
   */
  readonly timeLimit?: Duration | undefined
}

/** The keys of `SqlLockProviderOptions`. */
export const SQL_LOCK_PROVIDER_OPTIONS = [...TABLE_OPTIONS, 'lockedBy', 'timeLimit'] as const

/**
 * Hands out locks that are rows of a table: a `LockProvider` for any SQL client that has a `SqlExecutor`. When something goes wrong,
 * every method that reaches the database rejects with a `LockError` `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`
 * or `DATABASE_ERROR`.
 */
export class SqlLockProvider implements LockProvider {
  /** The table and the dialect, for logs, such as `the table shedlock (postgres)`. */
  readonly description: string
  readonly #table: StoredTable
  readonly #rows: LockRows
  readonly #lockedBy: string

  /**
   * Does not touch the database.
   *
   * @throws LockError `INVALID_CONFIGURATION`
   */
  constructor(executor: SqlExecutor, dialect: Dialect, options: SqlLockProviderOptions = {}) {
    checkOptions(options, SQL_LOCK_PROVIDER_OPTIONS, 'lock provider options')
    const timeLimit = checkDuration(undefined, 'timeLimit', options.timeLimit ?? '5s')
    if (timeLimit === 0)
      throw invalid('timeLimit is 0, so the database could never answer in time – make it longer.')
    const table = lockTable(dialect, options)
    this.description = `the table ${title(table.names)} (${dialect.name})`
    this.#lockedBy = checkLockedBy(options.lockedBy ?? defaultLockedBy())
    this.#table = new StoredTable(executor, dialect, table, Math.min(timeLimit, LONGEST_TIMEOUT))
    this.#rows = new LockRows(this.#table)
  }

  /**
   * Tries to acquire the lock once.
   *
   * @returns the lock, or `undefined` if somebody else holds it, or if its slot has run already
   * @throws LockError `INVALID_CONFIGURATION`, or as every method does; the reason of `signal`, if it has aborted by the time of
   *   the answer. In all these cases the lock was not acquired, or is released again in the background
   */
  async lock(
    configuration: LockConfiguration,
    { signal, onRefused }: LockOptions = {},
  ): Promise<Lock | undefined> {
    const checked = checkLockConfiguration(configuration)
    const { name, lockAtMostFor, slot } = checked
    signal?.throwIfAborted()
    this.#rows.releases.isOpen = true
    const holder = { name, lockedBy: newOwner(this.#lockedBy), hasSlot: slot !== undefined }
    const { outcome, row, lease } = await this.#rows.acquire(holder, checked)
    if (outcome === 'slot-too-far-ahead') throw slotTooFarAhead(name, Number(slot), Number(row?.['now']))
    if (outcome !== 'acquired') {
      signal?.throwIfAborted()
      onRefused?.(outcome, row && lockHolder(row))
      return undefined
    }
    if (lease.remaining() > 0 && !signal?.aborted)
      return createLock(name, new SqlAcquisition(this.#rows, holder, lease, checked))
    this.#rows.releaseUnused(holder, lockAtMostFor)
    signal?.throwIfAborted()
    throw new LockError(
      'TIMEOUT',
      `The database acquired lock '${name}' only after the lock was over (${lockAtMostFor} ms) – make lockAtMostFor longer.`,
      { lockName: name },
    )
  }

  /**
   * Call it at the end of the process, unless `LockingTaskExecutor.shutdown()` does: it waits for the releases in the background, of
   * locks whose acquisition or release got no answer. After the timeout these locks are left to expire. Nothing is sent to the
   * database afterwards, until the next call of `lock`.
   *
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  async drain({ timeout = '10s' }: ShutdownOptions = {}): Promise<void> {
    await this.#rows.releases.drain(checkDuration(undefined, 'timeout', timeout))
  }

  /** Reads every lock of the table, held or not, in the order of their names: for people and dashboards. */
  async listLocks(): Promise<LockRecord[]> {
    return (await this.#table.read(this.#table.statements.list)).map(lockRecord)
  }

  /**
   * Reads one lock of the table, held or not. Where the table's collation ignores case, `Report` finds the lock `report`, and the
   * result has the row's own spelling.
   *
   * @returns the lock, or `undefined` when it was never acquired
   */
  async findLock(name: string): Promise<LockRecord | undefined> {
    const [row] = await this.#table.read(this.#table.statements.find, { name })
    return row && lockRecord(row)
  }

  /**
   * Releases a lock whose holder is known to be gone, if it is still held by this owner. A holder that is alive goes on running
   * without the lock. The owner of a Java service is only its host, so there a later acquisition may be released.
   *
   * @param owner `lockedBy`, as `findLock` returned it
   * @returns whether it was released; `false`: nobody holds it, or somebody else does
   */
  async releaseLock(name: string, owner: string): Promise<boolean> {
    const values = { name, lockedBy: owner, unlockedBy: endedOwner(owner) }
    const attempt = () => this.#table.changes(this.#table.statements.releaseHeld, values)
    return (await this.#table.call({ lockName: name, attempt })) > 0
  }

  /**
   * Checks the lock table: its columns with types and lengths, its key, whether names that differ in case are different locks, the
   * times in its rows, and the privileges of this user. Changes nothing.
   *
   * @returns what is wrong, worst first, with the SQL that fixes it; an empty array when all is well
   */
  checkTable(): Promise<TableFinding[]> {
    return this.#table.call({ attempt: () => inspectTable(this.#table) })
  }

  /**
   * Finds the locks that nobody has acquired for too long: their jobs do not run. A lock that is paused is not overdue.
   *
   * @param limits for each lock, how long ago it may have been acquired last: `{ report: '25h', 'clean-up': '10m' }`
   * @param options whether the last run must have succeeded, and how long a run may last
   * @returns the locks that were acquired longer ago, or never, or at a time that lies in the future, and those that break `options`;
   *   in the order of `limits`. Empty when all is well
   * @throws LockError `INVALID_CONFIGURATION`
   */
  async overdueLocks(
    limits: Readonly<Record<string, Duration>>,
    options: OverdueOptions = {},
  ): Promise<OverdueLock[]> {
    checkOptions(options, ['succeeded', 'runningAtMost'], 'options of overdueLocks')
    const { succeeded = false, runningAtMost = Infinity } = options
    const more = {
      succeeded,
      runningAtMost:
        runningAtMost === Infinity ? Infinity : checkDuration(undefined, 'runningAtMost', runningAtMost),
    }
    const overdue: OverdueLock[] = []
    for (const [name, limit] of checkLimits(limits)) {
      const lock = overdueLock(name, limit, await this.findLock(name), more)
      if (lock) overdue.push(lock)
    }
    return overdue
  }

  /**
   * Pauses a job: acquires its lock without a run, so that everybody skips, Java services too. The pause lasts until `resumeLock` is
   * called or until its time is over; it does not end with this process. `lockedAt` does not change.
   *
   * @returns whether this call has paused the job; `false`: somebody else holds the lock, or has already paused it, as `findLock`
   *   tells
   * @throws LockError `INVALID_CONFIGURATION`, or as every method does. In all these cases the job is not paused, or is resumed in
   *   the background
   */
  async pauseLock(name: string, options: PauseOptions): Promise<boolean> {
    const { lockedBy, pauseFor, wait } = checkPause(checkLockName(name), options, this.#lockedBy)
    this.#rows.releases.isOpen = true
    const pause = () => this.#rows.pause({ name, lockedBy: newOwner(lockedBy) }, pauseFor)
    return poll(pause, (paused) => paused, { timeout: wait, pause: 500 })
  }

  /**
   * Ends the pause of a job, whoever paused it.
   *
   * @returns whether this call has ended a pause; `false`: the job was not paused
   */
  async resumeLock(name: string): Promise<boolean> {
    const lock = await this.findLock(name)
    return lock?.paused === true && this.releaseLock(name, lock.lockedBy)
  }

  /**
   * Creates the lock table unless it exists, as the migration does. However many processes call it at the same time, each
   * succeeds. On Spanner it needs TypeORM.
   *
   * @throws LockError `TABLE_MISMATCH` when another table has this name, or as every method does
   */
  createTable(): Promise<void> {
    return this.#table.create()
  }
}
