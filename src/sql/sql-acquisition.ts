import {
  activeLock,
  invalid,
  later,
  Lease,
  LockError,
  recogniseEveryCopy,
  time,
  type Acquisition,
  type ActiveLock,
  type UnlockOptions,
} from '../core'
import type { Dialect, Pin } from './dialect'
import type { Holder, LockRows } from './lock-rows'
import type { EndedRun } from './owner'
import { changedRows, DriverError, type SqlExecutor } from './statement'
import { withName } from './stored-table'

/** The database's clock is cut to milliseconds, so a lease may begin that much in the past, and end as much earlier. */
const CLOCK_STEP = 1

/** One acquisition of a lock in SQL. */
export class SqlAcquisition implements Acquisition {
  static {
    recogniseEveryCopy(this, 'SqlAcquisition')
  }

  readonly dialect: Dialect
  readonly pin: Pin
  #lease: Lease
  /** The longest lease that was requested: an extension that nobody answered may still be done. */
  #longest: number
  #atLeast: Lease
  readonly #acquired = time.now()

  /**
   * @param lease begun when the request was sent, as `leaseOf` makes it
   * @param lockAtMostFor in milliseconds
   * @param lockAtLeastFor in milliseconds, from the acquisition, which was answered just now
   */
  constructor(
    private readonly rows: LockRows,
    readonly holder: Holder,
    lease: Lease,
    lockAtMostFor: number,
    lockAtLeastFor: number,
  ) {
    this.dialect = rows.table.dialect
    this.pin = rows.table.statements.pin
    this.#lease = lease
    this.#longest = lockAtMostFor
    this.#atLeast = new Lease(lockAtLeastFor)
  }

  get lease(): Lease {
    return this.#lease
  }

  async extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<Lease | undefined> {
    const lease = leaseOf(lockAtMostFor)
    this.#longest = Math.max(this.#longest, lockAtMostFor)
    if (!(await this.rows.extend(this.holder, lockAtMostFor, this.#lease))) return undefined
    if (lockAtLeastFor !== undefined) this.#atLeast = this.#atLeast.lasting(lockAtLeastFor)
    return (this.#lease = later(this.#lease, lease))
  }

  fencingToken(): Promise<number | undefined> {
    return this.rows.fencingToken(this.holder, this.#lease)
  }

  unlock(told: UnlockOptions['outcome']): Promise<void> {
    const ended = time.now()
    const ranFor = ended - this.#acquired
    const outcome = told === 'succeeded' || told === 'failed' ? told : 'unlocked'
    const run = (): EndedRun | undefined => {
      if (told === 'unused') return undefined
      const keepFor = Math.ceil(this.#atLeast.remaining())
      return { outcome, ranFor, keepFor, heldFor: keepFor + time.now() - ended }
    }
    return this.rows.release(this.holder, run, new Lease(this.#longest))
  }
}

/** What the holder may trust; to be begun before the request is sent. */
export function leaseOf(lockAtMostFor: number): Lease {
  return new Lease(lockAtMostFor - CLOCK_STEP)
}

/**
 * The row behind a lock, through whatever wraps it.
 *
 * @throws LockError `NOT_LOCKED` without a lock, `INVALID_CONFIGURATION` for one that is not kept in SQL
 */
export function sqlAcquisition(lock: ActiveLock | undefined): SqlAcquisition {
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock that could guard the transaction – call the guard inside a locked task, or pass the lock to it.',
    )
  }
  if (!(lock.acquisition instanceof SqlAcquisition)) {
    throw invalid(
      `Lock '${lock.name}' is not kept in a SQL table, so it cannot guard a transaction – use typeOrmLockProvider, prismaLockProvider or SqlLockProvider.`,
      lock.name,
    )
  }
  return lock.acquisition
}

/**
 * Lets a transaction commit only while the lock is held: a task that was paused beyond its lease cannot commit stale work.
 * Call it last before the commit: until then neither an extension nor a successor gets past the lock's row. TypeORM and Prisma
 * have a `guard` of their own, which takes their transaction.
 *
 * @param transaction runs its statements inside the open transaction, in the lock table's database
 * @param lock default: the innermost active lock
 * @throws LockError `LOCK_LOST` when the lock is no longer held: roll back; `NOT_LOCKED` outside of a locked task;
 *   `INVALID_CONFIGURATION` for a lock that is not kept in SQL; `DATABASE_ERROR`. A serialization failure, a deadlock or a busy
 *   file comes through as the client's own error: run the transaction again.
 */
export async function guard(
  transaction: SqlExecutor,
  lock: ActiveLock | undefined = activeLock(),
): Promise<void> {
  await guardTransaction(transaction, sqlAcquisition(lock))
}

/**
 * Makes sure that the lock is still held by this acquisition, and keeps its row as it is until the transaction ends.
 *
 * @param executor runs its statements inside the transaction
 * @throws LockError `LOCK_LOST`, `DATABASE_ERROR`, `INVALID_CLIENT`. A lost race of the transaction itself (serialization failure,
 *   deadlock, busy file) comes through as the client's own error, so that code that repeats your transactions recognises it.
 */
export async function guardTransaction(executor: SqlExecutor, acquisition: SqlAcquisition): Promise<void> {
  const lockName = acquisition.holder.name
  if (!(await pin(executor, acquisition))) {
    throw new LockError(
      'LOCK_LOST',
      `Lock '${lockName}' is no longer held, as far as this transaction sees – roll it back, because somebody else may hold the lock.`,
      { lockName },
    )
  }
}

async function pin(executor: SqlExecutor, { dialect, pin, holder }: SqlAcquisition): Promise<boolean> {
  try {
    const { kind, statement } = pin
    const rows =
      kind === 'read'
        ? (await executor.query(statement, holder)).length
        : changedRows(await executor.execute(statement, holder))
    return rows > 0
  } catch (error) {
    if (error instanceof LockError) throw withName(error, holder.name)
    if (!(error instanceof DriverError)) throw error
    const { code, message, cause } = error
    if (code !== undefined && code in dialect.transientErrors) throw cause
    throw new LockError(
      'DATABASE_ERROR',
      `The guard of lock '${holder.name}' failed in the database: ${message}`,
      {
        lockName: holder.name,
        cause,
      },
    )
  }
}
