import { invalid, LockError, type ActiveLock } from '../core'
import { SqlAcquisition } from './lock-rows'
import { DriverError, type SqlExecutor } from './statement'
import { changedRows } from './stored-table'

/**
 * The row behind a lock, through whatever wraps it.
 *
 * @throws LockError `NOT_LOCKED` without a lock, `INVALID_CONFIGURATION` for one that is not kept in SQL
 */
export function sqlAcquisition(lock: ActiveLock | undefined): SqlAcquisition {
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock to guard the transaction – call guard inside a locked task, or give it the lock.',
    )
  }
  if (!(lock.acquisition instanceof SqlAcquisition)) {
    throw invalid(
      `Lock '${lock.name}' is not kept in a SQL table, so no transaction can be tied to it.`,
      lock.name,
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
export async function guardTransaction(
  executor: SqlExecutor,
  { rows: { table }, holder }: SqlAcquisition,
): Promise<void> {
  const lockName = holder.name
  const { kind, statement } = table.statements.pin
  let pinned: number
  try {
    pinned =
      kind === 'read'
        ? (await executor.query(statement, holder)).length
        : changedRows(await executor.execute(statement, holder))
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    const { code, message, cause } = error
    if (code !== undefined && code in table.dialect.transientErrors) throw cause
    throw new LockError('DATABASE_ERROR', `The guard of lock '${lockName}' failed: ${message}`, {
      lockName,
      cause,
    })
  }
  if (pinned > 0) return
  throw new LockError(
    'LOCK_LOST',
    `Lock '${lockName}' is no longer held, as this transaction sees its table – roll back: somebody else may hold it.`,
    { lockName },
  )
}
