import {
  askAgain,
  checkDuration,
  checkLockConfiguration,
  checkLockName,
  checkOptions,
  Lease,
  LockError,
  LONGEST_TIMEOUT,
  simpleLock,
  SLOT_AT_MOST_AHEAD,
  slotTooFarAhead,
  type Duration,
  type LockConfiguration,
  type LockOptions,
  type LockProvider,
  type SimpleLock,
} from '../core'
import type { Dialect } from './dialect'
import { lockHolder, type LockRecord } from './lock-record'
import { LockRows } from './lock-rows'
import { lockStatements } from './lock-statements'
import { lockTable, TABLE_OPTIONS, type LockTableOptions } from './lock-table'
import { overdueLocks, type OverdueLock } from './overdue'
import { checkLockedBy, defaultLockedBy, newOwner } from './owner'
import { checkPause, type PauseOptions } from './pause'
import { leaseOf, SqlAcquisition } from './sql-acquisition'
import type { SqlExecutor } from './sql-executor'
import type { TableFinding } from './table-finding'

/** Options of every provider that keeps its locks in a table. */
export interface SqlLockProviderOptions extends LockTableOptions {
  /** The readable part of the owner in `locked_by`; a random part follows it. Default `host/process-id`. */
  readonly lockedBy?: string | undefined
  /** How long one step (acquire, extend, release) may wait for the pool and the database in all. Default 5 seconds. */
  readonly timeLimit?: Duration | undefined
  /**
   * How far a slot may lie in the future by the database's clock: as far as the clocks of the instances may differ. One that
   * lies further is refused as a mistake, because it would keep the task from running until then. Default 1 hour.
   */
  readonly slotAtMostAhead?: Duration | undefined
}

/** The keys of `SqlLockProviderOptions`, for those whose own options include them. */
export const SQL_LOCK_PROVIDER_OPTIONS = [
  ...TABLE_OPTIONS,
  'lockedBy',
  'timeLimit',
  'slotAtMostAhead',
] as const

/** Hands out locks from a table: a `LockProvider` for any SQL client that has a `SqlExecutor`. */
export class SqlLockProvider implements LockProvider {
  /** The table and the dialect, for logs. */
  readonly description: string
  readonly #rows: LockRows
  readonly #lockedBy: string
  readonly #slotAtMostAhead: number

  /** @throws LockError `INVALID_CONFIGURATION`. Does not touch the database. */
  constructor(executor: SqlExecutor, dialect: Dialect, options: SqlLockProviderOptions = {}) {
    checkOptions(options, SQL_LOCK_PROVIDER_OPTIONS, 'lock provider options')
    const timeLimit = checkDuration(undefined, 'timeLimit', options.timeLimit ?? '5s')
    if (timeLimit === 0)
      throw new LockError('INVALID_CONFIGURATION', 'timeLimit is 0 – give the database time to answer.')
    this.#slotAtMostAhead = checkDuration(
      undefined,
      'slotAtMostAhead',
      options.slotAtMostAhead ?? SLOT_AT_MOST_AHEAD,
    )
    const table = lockTable(dialect, options)
    const { schema, table: tableName } = table.names
    this.description = `the table ${schema === undefined ? '' : `${schema}.`}${tableName} (${dialect.name})`
    this.#lockedBy = checkLockedBy(options.lockedBy ?? defaultLockedBy())
    this.#rows = new LockRows(
      executor,
      dialect,
      table,
      lockStatements(dialect, table),
      Math.min(timeLimit, LONGEST_TIMEOUT),
      this.#slotAtMostAhead,
    )
  }

  /**
   * Asks for the lock once.
   *
   * @returns the lock, or `undefined` if somebody else holds it, or its slot was given already
   * @throws LockError `INVALID_CONFIGURATION`, `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`,
   *   `DATABASE_ERROR`: in each case the lock was not acquired, or is released again in the background; the reason of `signal`,
   *   if it has aborted
   */
  async lock(
    configuration: LockConfiguration,
    { signal, onRefused }: LockOptions = {},
  ): Promise<SimpleLock | undefined> {
    const { name, lockAtMostFor, lockAtLeastFor, slot } = checkLockConfiguration(configuration)
    signal?.throwIfAborted()
    await this.#rows.refuseWrongTable()
    const holder = { name, lockedBy: newOwner(this.#lockedBy), hasSlot: slot !== undefined }
    const lease = leaseOf(lockAtMostFor)
    const { outcome, row } = await this.#rows.take({ holder, lockAtMostFor, slot })
    if (outcome === 'ahead') throw slotTooFarAhead(name, Number(slot), this.#slotAtMostAhead)
    if (outcome !== 'taken') {
      onRefused?.(outcome, row && lockHolder(row))
      return undefined
    }
    if (lease.remaining() === 0) {
      void this.#rows.free(holder, 'unused', new Lease(lockAtMostFor))
      throw new LockError(
        'TIMEOUT',
        `The database took longer to acquire lock '${name}' than the lock lasts (${lockAtMostFor} ms) – make lockAtMostFor longer.`,
        { lockName: name },
      )
    }
    return simpleLock(name, new SqlAcquisition(this.#rows, holder, lease, lockAtLeastFor))
  }

  /**
   * Every lock of the table, held or not, in the order of their names: for people and dashboards.
   *
   * @throws LockError `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`
   */
  listLocks(): Promise<LockRecord[]> {
    return this.#rows.list()
  }

  /**
   * Releases a lock whose holder is known to be gone, only if it is still held by the owner that `listLocks` showed. A
   * holder that is alive goes on running, and somebody else may start beside it. The owner of a Java service is its host,
   * the same for each of its acquisitions: there a later one may be released.
   *
   * @returns whether it was released; `false`: nobody or somebody else holds it now
   * @throws LockError `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`
   */
  releaseLock(name: string, owner: string): Promise<boolean> {
    return this.#rows.release({ name, lockedBy: owner })
  }

  /**
   * Looks the lock table over, more closely than the first lock does: columns, types, lengths, key, case of names, and
   * what this user may do. Changes nothing.
   *
   * @returns what is wrong, worst first, with the SQL that fixes it; empty when all is well
   * @throws LockError `INVALID_CLIENT`, `TIMEOUT`, `DATABASE_ERROR`
   */
  checkTable(): Promise<TableFinding[]> {
    return this.#rows.inspect()
  }

  /**
   * Which of these locks nobody has taken for longer than they may: jobs that do not run. A lock that is paused is not overdue.
   *
   * @param limits how long ago each was to be taken at the latest: `{ report: '25h', 'clean-up': '10m' }`
   * @returns those that were taken longer ago, or never, in the order of `limits`; empty when all is well
   * @throws LockError `INVALID_CONFIGURATION`, `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`
   */
  async overdueLocks(limits: Readonly<Record<string, Duration>>): Promise<OverdueLock[]> {
    const checked = Object.entries(limits).map(
      ([name, limit]) => [checkLockName(name), checkDuration(name, 'the limit', limit)] as const,
    )
    return overdueLocks(await this.listLocks(), checked)
  }

  /**
   * Pauses a job: takes its lock without a run, so that everybody who asks for it skips, Java services too. It lasts until
   * `resumeLock`, or until its time is over; it does not end with this process. `lockedAt` stays as it was.
   *
   * @returns whether it is paused now; `false`: somebody holds it, or has paused it, as `listLocks` tells
   * @throws LockError `INVALID_CONFIGURATION`, `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`:
   *   in each case it is not paused, or is resumed in the background
   */
  async pauseLock(name: string, options: PauseOptions): Promise<boolean> {
    const { lockedBy, pauseFor, wait } = checkPause(checkLockName(name), options, this.#lockedBy)
    await this.#rows.refuseWrongTable()
    const pause = () => this.#rows.pause({ name, lockedBy: newOwner(lockedBy) }, pauseFor)
    return askAgain(pause, (paused) => paused, { timeout: wait, pause: 500 })
  }

  /**
   * Ends the pause of a job, whoever paused it.
   *
   * @returns whether it was paused, and is free now
   * @throws LockError `INVALID_CLIENT`, `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`
   */
  async resumeLock(name: string): Promise<boolean> {
    const lock = (await this.listLocks()).find((each) => each.name === name)
    return lock?.paused === true && this.releaseLock(name, lock.lockedBy)
  }

  /**
   * Makes the lock table unless it is there, as the migration does: for programs that run their migrations under a lock.
   * However many processes call it at the same time, each succeeds. Not for Spanner.
   *
   * @throws LockError `TABLE_MISMATCH` when another table has the name, `INVALID_CLIENT`, `TIMEOUT`, `DATABASE_ERROR`
   */
  createTable(): Promise<void> {
    return this.#rows.createTable()
  }
}
