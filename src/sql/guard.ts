import {
  acquisitionOf,
  activeLock,
  doAllAssertsPass,
  inMemory,
  configurationError,
  LockError,
  recordGuard,
  type ActiveLock,
} from '../core/internal'
import { Attempt } from './calls'
import { LockRow } from './lock-row'
import { DriverError, type SqlClient } from './session'

/**
 * Returns the row behind a lock, which a guard has to pin; `undefined` in unit tests, for a lock in memory that is still held.
 *
 * @throws LockError `NOT_LOCKED` without a lock, `INVALID_CONFIGURATION` for a lock of another storage, `LOCK_LOST` for a lock in
 *   memory that is no longer held
 */
export async function rowToPin(lock: ActiveLock | undefined): Promise<LockRow | undefined> {
  const acquisition = lock && acquisitionOf(lock)
  if (acquisition instanceof LockRow) return acquisition
  if (doAllAssertsPass()) return undefined
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock that could guard the transaction – call the guard inside a locked task, or pass the lock to it.',
    )
  }
  if (!acquisition || !inMemory.has(acquisition)) {
    throw configurationError(
      `Lock '${lock.name}' is not kept in a SQL table, so it cannot guard a transaction – use typeOrmLockProvider, prismaLockProvider or SqlLockProvider.`,
      lock.name,
    )
  }
  // This checks whether the lock is still held.
  await lock.fencingToken()
  return undefined
}

/**
 * Lets a transaction commit only while the lock is held, so that a task that was suspended beyond its lease cannot commit stale
 * work. Call it last before the commit, because until then neither an extension nor a successor can change the lock's row. For
 * TypeORM and Prisma, use the `guard` of their entry points, which takes their transaction.
 *
 * @param transaction runs its statements inside the open transaction, in the lock table's database
 * @param lock default: the innermost active lock
 * @throws LockError `LOCK_LOST` if the lock is no longer held: roll back; `NOT_LOCKED` outside of a locked task;
 *   `INVALID_CONFIGURATION` for a lock that is not kept in SQL; `DATABASE_ERROR`. A serialization failure, a deadlock or a busy
 *   file is passed on as the client's own error: run the transaction again.
 */
export async function guard(
  transaction: SqlClient,
  lock: ActiveLock | undefined = activeLock(),
): Promise<void> {
  const row = await rowToPin(lock)
  if (row) await guardTransaction(transaction, row)
}

/**
 * Checks that this acquisition still holds the lock, and keeps its row unchanged until the transaction ends.
 *
 * @param transaction runs its statements inside the transaction
 * @throws LockError `LOCK_LOST`, `DATABASE_ERROR`, `INVALID_CLIENT`. If the transaction itself loses a race (serialization failure,
 *   deadlock, busy file), the client's own error is passed on, so that code that retries your transactions recognises it.
 */
export async function guardTransaction(transaction: SqlClient, row: LockRow): Promise<void> {
  const { table, name: lockName, lockedBy } = row
  const { kind, statement } = table.statements.pin
  recordGuard(row)
  const attempt = new Attempt(transaction, {}, lockName)
  const values = { name: lockName, lockedBy }
  let pinned: number
  try {
    pinned =
      kind === 'read'
        ? (await attempt.query(statement, values)).length
        : await attempt.changes(statement, values)
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    const { code, message, cause } = error
    if (code !== undefined && code in table.dialect.transientErrors) throw cause
    throw new LockError(
      'DATABASE_ERROR',
      `The guard of lock '${lockName}' failed in the database: ${message}`,
      {
        lockName,
        cause,
      },
    )
  }
  if (pinned > 0) return
  throw new LockError(
    'LOCK_LOST',
    `As far as this transaction can see, lock '${lockName}' is no longer held – roll it back, because another instance may hold the lock.`,
    { lockName },
  )
}
