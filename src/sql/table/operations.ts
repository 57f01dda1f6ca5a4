import {
  aBoolean,
  aDue,
  aDuration,
  anObject,
  aSignal,
  aString,
  hasMissed,
  parseLockName,
  parseOptions,
  parseWait,
  parseSlot,
  configurationError,
  poll,
  time,
  timeOf,
  untilAnswered,
  type CronLike,
  type CronTimeLike,
  type Due,
  type Duration,
  type Job,
  type LockConfiguration,
  type LockError,
} from '../../core/internal'
import { Attempt } from '../calls'
import type { Dialect } from '../dialect'
import type { LockRow } from '../lock-row'
import type { LockTable } from '../lock-table'
import { endedOwner, isPause, pauseOwner } from '../owner'
import { lockRecords, type LockRecord } from '../records'
import { raw } from '../sql'
import { findTable, type TableFinding } from './check'
import { tableDefinition } from './definition'
import { inspectTable } from './inspection'
import { isTrouble, jobView, parseExpected, type JobView } from './job-state'
import { readPlace, type Place } from './place'

/**
 * What operators do with a lock table: `provider.table`. Every method rejects with a `LockError` `INVALID_CLIENT`, `TABLE_MISSING`,
 * `TABLE_MISMATCH`, `TIMEOUT` or `DATABASE_ERROR` if something goes wrong.
 */
export class TableOperations {
  readonly #table: LockTable
  readonly #lockedBy: string
  readonly #newRow: (name: string, lockedBy: string) => LockRow

  /** @internal */
  constructor(table: LockTable, lockedBy: string, newRow: (name: string, lockedBy: string) => LockRow) {
    this.#table = table
    this.#lockedBy = lockedBy
    this.#newRow = newRow
  }

  /** Reads all locks of the table, held or not, in the order of their names: for people and dashboards. */
  async list(): Promise<LockRecord[]> {
    return lockRecords(await this.#table.read('list'))
  }

  /**
   * Reads one lock of the table, held or not. If the table's collation ignores case, `Report` finds the lock `report`, and the
   * result has the row's own spelling.
   *
   * @returns the lock, or `undefined` if it was never acquired
   */
  async find(name: string): Promise<LockRecord | undefined> {
    const [record] = lockRecords(await this.#table.read('find', { name }))
    return record
  }

  /**
   * Releases a lock whose holder is known to be gone, if its row has not changed since it was read. A holder that is alive
   * continues without the lock. Does not end a pause; use `resume` for that.
   *
   * @param lock as `find` returned it: the lock is released only if it still has this owner and this end of its lease. The
   *   owner alone is not enough: that of a Java service is only its host, and a lock that has been extended since has a holder that
   *   is alive
   * @returns whether it was released; `false`: it is free, has another owner, is paused, or its lease ends at another time
   */
  async release(lock: Pick<LockRecord, 'name' | 'lockedBy' | 'lockUntil'>): Promise<boolean> {
    return !isPause(parseSeenLock(lock).lockedBy) && this.#releaseSeen(lock)
  }

  async #releaseSeen({ name, lockedBy, lockUntil }: SeenLock): Promise<boolean> {
    const values = { name, lockedBy, unlockedBy: endedOwner(lockedBy), seenUntil: lockUntil.getTime() }
    const writes = { withoutEffect: 0 }
    const attempt = async (current: Attempt): Promise<boolean> => {
      const { releaseSeen, find } = this.#table.statements
      if ((await current.changes(releaseSeen, values)) > 0) return true
      const [now] = lockRecords(await current.query(find, { name }))
      if (!now?.held || now.lockedBy !== lockedBy || now.lockUntil.getTime() !== lockUntil.getTime())
        return false
      throw await this.#table.whyUnchanged(current, name, writes)
    }
    return this.#table.call({ lockName: name, attempt })
  }

  /**
   * Checks the lock table: the types and lengths of its columns, its key, whether names that differ in case are different locks,
   * the times in its rows, and the privileges of this user. Changes nothing.
   *
   * @returns what is wrong, worst first; an empty array if nothing is wrong
   */
  check(): Promise<TableFinding[]> {
    const { sql: table, dialect } = this.#table
    const attempt = (current: Attempt) => inspectTable({ attempt: current, dialect, table })
    return this.#table.call({ attempt }, 'nothing')
  }

  /** @internal Reads where the table is. */
  place(): Promise<Place> {
    const { sql: table, dialect, client } = this.#table
    const { server } = client
    const attempt = async (current: Attempt): Promise<Place> => ({
      ...(await readPlace({ attempt: current, dialect, table })),
      ...(server !== undefined && { server }),
    })
    return this.#table.call({ isRepeatable: () => true, attempt }, 'nothing')
  }

  /** @internal Opens a session for questions about the server. */
  session(): { readonly dialect: Dialect; readonly attempt: Attempt } {
    const { client, dialect } = this.#table
    return { dialect, attempt: new Attempt(client, dialect) }
  }

  /**
   * Finds the jobs that do not run as they should: those that are `stuck`, `missed` or `late`. A paused one is not.
   *
   * @param expected for each lock, how long ago its last acquisition may be, or when its job is due: `{ report: '25h', 'clean-up': {
   *   due: cron } }`. What `jobs` of the lock page contains fits
   * @param options whether the last run must have succeeded, and how long a run may last
   * @returns these jobs, in the order of `expected`
   * @throws LockError `INVALID_CONFIGURATION`
   */
  async overdue(
    expected: Readonly<Record<string, Duration | Job>>,
    options: {
      /**
       * Whether to find also jobs that `died` or `failed`, and those whose last run is not known to have succeeded: it was unlocked without
       * an outcome, or was another program's. It does not count during the next run, nor after a pause, which overwrites it. Default `false`.
       */
      readonly mustHaveSucceeded?: boolean | undefined
      /** A job is also `late` if its run has lasted longer than this or, with a slot, was due longer ago. Default: no limit. */
      readonly runningAtMost?: Duration | undefined
    } = {},
  ): Promise<JobView[]> {
    const parsers = { mustHaveSucceeded: aBoolean, runningAtMost: aDuration }
    const more = parseOptions(options, parsers, 'options of overdue')
    const overdue: JobView[] = []
    // One after another, so that a probe never takes more than one connection from the pool of the app. Not the whole table, which
    // may have a row for each tenant.
    for (const [name, each] of parseExpected(expected)) {
      const job = jobView(name, await this.find(name), { ...each, ...more })
      const isOutcome = job.state === 'died' || job.state === 'failed'
      if (isTrouble(job.state) && (more.mustHaveSucceeded || !isOutcome)) overdue.push(job)
    }
    return overdue
  }

  /**
   * For the start of a process: finds out whether a job has missed the time at which it was last due, because no instance ran. As long
   * as the database does not answer, it is asked again, more and more rarely.
   *
   * ```ts
   * const slot = await provider.table.missed('report', { due: job, atMost: '2h' })
   * if (slot) await send(slot)
   * ```
   *
   * @returns when the job was due, also while its run for that time goes on, because it may fail. `undefined` if its last run is that one
   *   and succeeded, or a later one; if the job is not due, or was due longer ago; if nobody has run it before; or if it ran last at a
   *   time at which `due` is not due, because it has been moved
   * @throws LockError `INVALID_CONFIGURATION`; the last error of the database after `atMost`, or if `signal` aborts
   */
  async missed(
    name: string,
    options: {
      /** When the job is due: its expression, or the time at which it was due last. */
      readonly due: CronLike | CronTimeLike | { readonly cronTime: CronTimeLike } | Date
      /** How long ago that may be, and how long to wait for the database. */
      readonly atMost: Duration
      /** Ends the wait for the database. Default: none. */
      readonly signal?: AbortSignal | undefined
    },
  ): Promise<Date | undefined> {
    const parsers = { due: aDueOrSlot, atMost: aDuration, signal: aSignal }
    const { due, atMost, signal } = parseOptions(options, parsers, 'options of missed', parseLockName(name))
    if (due === undefined || atMost === undefined)
      throw configurationError(
        `When lock '${name}' was due is not known – set 'due' to an expression or a time, and 'atMost' to how long ago that may be.`,
        name,
      )
    const expression = typeof due === 'number' ? undefined : due
    const lastDue = (): number | undefined => {
      const last = typeof due === 'number' ? due : due.last(time.wall())
      return last !== undefined && time.wall() - last <= atMost ? last : undefined
    }
    if (lastDue() === undefined) return undefined
    const lock = await untilAnswered(() => this.find(name), { atMost, signal })
    const last = lastDue()
    return last !== undefined && hasMissed(last, expression, lock) ? new Date(last) : undefined
  }

  /**
   * Pauses a job: acquires its lock without a run, so that every instance skips it, including Java services. The pause lasts until
   * `resume` is called or its duration is over; it does not end with this process. `lockedAt` does not change.
   *
   * @returns whether this call paused the job; `false`: its lock is already held or paused, see `find`
   * @throws LockError `INVALID_CONFIGURATION`, or as every method does; the job is then not paused, or is resumed in the background
   */
  async pause(
    name: string,
    options: {
      /** How long the pause lasts, unless `resume` ends it sooner. */
      readonly duration: Duration
      /** Why the job does not run, for other people. Written into `locked_by`. */
      readonly reason: string
      /**
       * Who pauses the lock. Also written into `locked_by`. Default: the provider's `lockedBy`, which is host and process unless you
       * set it.
       */
      readonly pausedBy?: string | undefined
      /** How long to wait for a run in progress to end. Default 0: not at all. */
      readonly wait?: LockConfiguration['wait']
    },
  ): Promise<boolean> {
    const { lockedBy, duration, wait } = parsePause(parseLockName(name), options, this.#lockedBy)
    const pause = () => this.#newRow(name, lockedBy).pause(duration)
    return wait ? poll(pause, (paused) => paused, wait) : pause()
  }

  /**
   * Ends the pause of a job.
   *
   * @param lock the name of the lock, to end any pause; or the lock as `find` returned it, to end only this pause
   * @returns whether this call ended a pause; `false`: the job was not paused, or its row has changed since it was read
   */
  async resume(lock: string | Pick<LockRecord, 'name' | 'lockedBy' | 'lockUntil'>): Promise<boolean> {
    const seen = typeof lock === 'string' ? await this.find(lock) : parseSeenLock(lock)
    return seen !== undefined && isPause(seen.lockedBy) && this.#releaseSeen(seen)
  }

  /**
   * Creates the lock table unless it exists, as the migration does. Any number of processes may call it at the same time, and each
   * succeeds. On Spanner it needs TypeORM.
   *
   * @throws LockError `TABLE_MISMATCH` if another table has this name, or as every method does
   */
  async create(): Promise<void> {
    const before = await this.#problem()
    if (!before) return
    if (before.code !== 'TABLE_MISSING') throw before
    const { sql } = this.#table
    const { schema = await this.#ownSchema() } = sql
    try {
      for (const statement of tableDefinition(this.#table.dialect, { ...sql.names, schema }).up)
        await this.#table.call(
          { attempt: (attempt) => attempt.execute(raw(statement), {}, 'changed') },
          'nothing',
        )
    } catch (error) {
      // Another session may have created the table. If that cannot be read, report the first error.
      const after = await this.#problem(error).catch(() => 'unknown' as const)
      if (after === 'unknown' || after?.code === 'TABLE_MISSING') throw error
      if (after) throw after
    }
  }

  /** Returns the schema in which a connection creates a table as long as the app has set nothing in its session, if a session may create it elsewhere. */
  async #ownSchema(): Promise<string | undefined> {
    const { client } = this.#table
    const { sessionSchema } = this.#table.dialect.table
    // If it cannot be read, creating the table shows why.
    if (sessionSchema) return (await this.place().catch(() => undefined))?.schema
    return client.schema?.()
  }

  #problem(cause?: unknown): Promise<LockError | undefined> {
    const { sql: table, dialect } = this.#table
    const attempt = async (current: Attempt) =>
      (await findTable({ attempt: current, dialect, table }, cause)).problem
    return this.#table.call({ attempt }, 'nothing')
  }
}

function aDueOrSlot(due: Due | Date, option: string, lockName?: string) {
  return typeof timeOf(due) === 'number'
    ? parseSlot(due, option, lockName)
    : aDue(due as Due, option, lockName)
}

/** A lock as it was read: what `find` and `list` return. */
type SeenLock = Pick<LockRecord, 'name' | 'lockedBy' | 'lockUntil'>

/** @throws LockError `INVALID_CONFIGURATION` */
function parseSeenLock(lock: SeenLock): SeenLock {
  const { name, lockedBy, lockUntil } = anObject(lock, 'The lock')
  if (typeof lockedBy === 'string' && lockUntil instanceof Date && !Number.isNaN(lockUntil.getTime()))
    return lock
  throw configurationError(
    `This is not a lock as it was read – pass what table.find('${name}') returned.`,
    name,
  )
}

/** @throws LockError `INVALID_CONFIGURATION` */
function parsePause(name: string, options: Parameters<TableOperations['pause']>[1], defaultPausedBy: string) {
  const parsers = { duration: aDuration, reason: aString, pausedBy: aString, wait: parseWait }
  const parsed = parseOptions(options, parsers, 'pause options', name)
  const { duration = 0, reason = '', pausedBy = defaultPausedBy, wait } = parsed
  if (duration === 0 || reason.trim() === '')
    throw configurationError(
      `The pause of lock '${name}' has no end or no reason – set 'duration' to how long it lasts, and 'reason' to a string.`,
      name,
    )
  return { duration, wait, lockedBy: pauseOwner(name, pausedBy, reason) }
}
