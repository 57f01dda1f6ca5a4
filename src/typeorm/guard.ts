import { activeLock, type ActiveLock } from '../core/internal'
import { guardTransaction, outsideError, rowToPin } from '../sql/internal'
import type { QueryRunnerLike } from './data-source-like'
import { givenQueryRunner } from './query-runner-client'

/**
 * Lets a transaction commit only while the lock is held, so that a task whose process stalled until its lease expired cannot commit
 * stale work. Call it immediately before the commit: from then until the commit, neither an extension nor another holder can change
 * the lock's row.
 *
 * ```ts
 * await dataSource.transaction(async (manager) => {
 *   await manager.save(report)
 *   await guard(manager)
 * })
 * ```
 *
 * The lock table must be in the same database as the transaction.
 *
 * @param transaction the `EntityManager` of a transaction, or the `QueryRunner` that began one
 * @param lock default: the innermost active lock
 * @throws LockError `LOCK_LOST` when the lock is no longer held, so that the transaction rolls back; `NOT_LOCKED` outside of a
 *   locked task; `INVALID_CLIENT` outside of a transaction; `INVALID_CONFIGURATION` for a lock that is not kept in SQL;
 *   `DATABASE_ERROR`. A serialization failure, a deadlock or a busy file is thrown as TypeORM's own error: repeat the transaction
 */
export async function guard(
  transaction: QueryRunnerLike | { readonly queryRunner?: QueryRunnerLike | undefined },
  lock: ActiveLock | undefined = activeLock(),
): Promise<void> {
  const row = await rowToPin(lock)
  if (!row) return
  const queryRunner = 'connect' in transaction ? transaction : transaction.queryRunner
  if (!queryRunner?.isTransactionActive) {
    throw outsideError(
      'pass the EntityManager that dataSource.transaction passes to its callback, or a QueryRunner after startTransaction.',
    )
  }
  await guardTransaction(givenQueryRunner(queryRunner, row.table.dialect.name), row)
}
