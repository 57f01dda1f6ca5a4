import { acquisitionOf, activeLock, invalid, LockError, type ActiveLock } from '../core/internal'
import { SqlAcquisition } from './acquisition'
import { changedRows, withName } from './calls'
import { DriverError, type SqlExecutor } from './sql-executor'

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
export async function guardTransaction(executor: SqlExecutor, { table, row }: SqlAcquisition): Promise<void> {
  const lockName = row.name
  const { kind, statement } = table.statements.pin
  let pinned: number
  try {
    pinned =
      kind === 'read'
        ? (await executor.query(statement, row)).length
        : changedRows(await executor.execute(statement, row))
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
    `Lock '${lockName}' is no longer held, as far as this transaction sees – roll it back, because somebody else may hold the lock.`,
    { lockName },
  )
}
