import { activeLock, LockError, type ActiveLock, type SimpleLock } from '../core'
import { guardTransaction, sqlAcquisition } from '../sql'
import { PLACEHOLDERS } from './placeholders'
import type { RawClientLike } from './prisma-client-like'
import { prismaSqlExecutor } from './prisma-sql-executor'

/** The client of an interactive transaction, which is told from others by having no `$connect`. */
export interface TransactionClientLike extends RawClientLike {
  readonly $connect?: never
}

/**
 * Lets an interactive transaction commit only while the lock is held: a task that was paused beyond its lease cannot
 * commit stale work. Call it as the last thing before the commit: until then the lock's row is pinned, and neither an
 * extension nor a successor gets past it.
 *
 * ```ts
 * await prisma.$transaction(async (tx) => {
 *   await tx.report.create({ data: report })
 *   await guard(tx)
 * })
 * ```
 *
 * The lock table has to be in the database of the transaction.
 *
 * @param lock default: the innermost active lock
 * @throws LockError `LOCK_LOST` when the lock is not held any more: let it pass, so that the transaction rolls back;
 *   `NOT_LOCKED` outside of a locked task; `INVALID_CLIENT` outside of a transaction; `INVALID_CONFIGURATION` for a
 *   lock that is not kept in SQL; `DATABASE_ERROR`. A serialization failure, a deadlock or a busy file comes through as
 *   Prisma's own error: run the transaction again.
 */
export async function guard(
  transaction: TransactionClientLike,
  lock: ActiveLock | SimpleLock | undefined = activeLock(),
): Promise<void> {
  const acquisition = sqlAcquisition(lock)
  if (typeof transaction.$connect === 'function') {
    throw new LockError(
      'INVALID_CLIENT',
      'guard needs an open transaction – give it the client that prisma.$transaction passes to its callback.',
    )
  }
  const placeholder = PLACEHOLDERS[acquisition.dialect.name]
  await guardTransaction(
    prismaSqlExecutor(placeholder, (work) => work(transaction)),
    acquisition,
  )
}
