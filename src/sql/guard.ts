import { acquisitionOf, activeLock, invalid, LockError, type ActiveLock } from '../core/internal'
import { SqlAcquisition } from './acquisition'
import { changedRows, withName } from './calls'
import { DriverError, type SqlExecutor } from './sql-executor'

/**
 * Returns the row behind a lock.
 *
 * @throws LockError `NOT_LOCKED` without a lock, `INVALID_CONFIGURATION` for a lock that is not kept in SQL
 */
export function sqlAcquisition(lock: ActiveLock | undefined): SqlAcquisition {
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock that could guard the transaction – call the guard inside a locked task, or pass the lock to it.',
    )
  }
  const acquisition = acquisitionOf(lock)
  if (!(acquisition instanceof SqlAcquisition)) {
    throw invalid(
      `Lock '${lock.name}' is not kept in a SQL table, so it cannot guard a transaction – use typeOrmLockProvider, prismaLockProvider or SqlLockProvider.`,
      lock.name,
    )
  }
  return acquisition
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
  transaction: SqlExecutor,
  lock: ActiveLock | undefined = activeLock(),
): Promise<void> {
  await guardTransaction(transaction, sqlAcquisition(lock))
}

/**
 * Checks that this acquisition still holds the lock, and keeps its row unchanged until the transaction ends.
 *
 * @param executor runs its statements inside the transaction
 * @throws LockError `LOCK_LOST`, `DATABASE_ERROR`, `INVALID_CLIENT`. If the transaction itself loses a race (serialization failure,
 *   deadlock, busy file), the client's own error is passed on, so that code that retries your transactions recognises it.
 */
export async function guardTransaction(executor: SqlExecutor, { table, row }: SqlAcquisition): Promise<void> {
  const { name: lockName, lockedBy } = row
  const values = { name: lockName, lockedBy }
  const { kind, statement } = table.statements.pin
  let pinned: number
  try {
    pinned =
      kind === 'read'
        ? (await executor.query(statement, values)).length
        : changedRows(await executor.execute(statement, values))
  } catch (error) {
    if (error instanceof LockError) throw withName(error, lockName)
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
