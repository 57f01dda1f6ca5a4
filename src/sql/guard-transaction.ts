import { LockError, type ActiveLock, type SimpleLock } from '../core'
import { SqlAcquisition } from './sql-acquisition'
import { changedRows, DriverError, type SqlExecutor } from './sql-executor'

/**
 * The row behind a lock, through whatever wraps it.
 *
 * @throws LockError `NOT_LOCKED` without a lock, `INVALID_CONFIGURATION` for one that is not kept in SQL
 */
export function sqlAcquisition(lock: ActiveLock | SimpleLock | undefined): SqlAcquisition {
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock to guard the transaction – call guard inside a locked task, or give it the lock.',
    )
  }
  if (!(lock.acquisition instanceof SqlAcquisition)) {
    throw new LockError(
      'INVALID_CONFIGURATION',
      `Lock '${lock.name}' is not kept in a SQL table, so no transaction can be tied to it.`,
      { lockName: lock.name },
    )
  }
  return lock.acquisition
}

/**
 * Makes sure that the lock is still held by this acquisition, and keeps its row as it is until the transaction ends.
 *
 * @param executor runs its statements inside the transaction
 * @throws LockError `LOCK_LOST`, `DATABASE_ERROR`. A lost race of the transaction itself (serialization failure,
 *   deadlock, busy file) comes through as the client's own error, so that what repeats your transactions sees it.
 */
export async function guardTransaction(executor: SqlExecutor, acquisition: SqlAcquisition): Promise<void> {
  const lockName = acquisition.holder.name
  if (!(await pin(executor, acquisition))) {
    throw new LockError(
      'LOCK_LOST',
      `Lock '${lockName}' is no longer held, as this transaction sees its table – roll back: somebody else may hold it.`,
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
    if (!(error instanceof DriverError)) throw error
    const { code, message, cause } = error
    const lostRace = code !== undefined && (code in dialect.errors.conflict || code in dialect.errors.busy)
    if (lostRace) throw cause
    throw new LockError('DATABASE_ERROR', `The guard of lock '${holder.name}' failed: ${message}`, {
      lockName: holder.name,
      cause,
    })
  }
}
