import { activeLock, LockError, type ActiveLock, type SimpleLock } from '../core'
import { guardTransaction, sqlAcquisition, type SqlAcquisition, type SqlExecutor } from '../sql'
import { internals, type RawClientLike } from './prisma-client-like'
import { prismaSqlExecutor } from './prisma-sql-executor'
import { isPrisma8, isPrisma8Transaction, type Prisma8TransactionLike } from './prisma8-client-like'
import { prisma8TransactionExecutor } from './prisma8-lock-provider'

/** Prisma still passes a client to the callback, which runs each statement by itself: https://pris.ly/d/d1-transactions */
const WITHOUT_TRANSACTIONS = /^@prisma\/adapter-d1(-http)?$/

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
 * The lock table has to be in the database of the transaction. With Prisma 8 it is `db.transaction(async (tx) => …)`, and
 * the lock has to come from a `prismaLockProvider` of the same `db`.
 *
 * @param lock default: the innermost active lock
 * @throws LockError `LOCK_LOST` when the lock is no longer held: let it pass, so that the transaction rolls back;
 *   `NOT_LOCKED` outside of a locked task; `INVALID_CLIENT` outside of a transaction, on D1, which has none, or with
 *   Prisma 8 for a lock of another client; `INVALID_CONFIGURATION` for a lock that is not kept in SQL; `DATABASE_ERROR`. A
 *   serialization failure, a deadlock or a busy file comes through as Prisma's own error: run the transaction again.
 */
export async function guard(
  transaction: TransactionClientLike | Prisma8TransactionLike,
  lock: ActiveLock | SimpleLock | undefined = activeLock(),
): Promise<void> {
  const acquisition = sqlAcquisition(lock)
  await guardTransaction(executorIn(transaction, acquisition), acquisition)
}

function executorIn(
  transaction: TransactionClientLike | Prisma8TransactionLike,
  acquisition: SqlAcquisition,
): SqlExecutor {
  if (isPrisma8Transaction(transaction)) return prisma8TransactionExecutor(transaction, acquisition)
  if (typeof transaction.$connect === 'function' || isPrisma8(transaction)) {
    throw new LockError(
      'INVALID_CLIENT',
      'guard needs an open transaction – give it the client that the transaction passes to its callback.',
    )
  }
  const { adapterName = '' } = internals(transaction)._engineConfig?.adapter ?? {}
  if (WITHOUT_TRANSACTIONS.test(adapterName)) {
    throw new LockError(
      'INVALID_CLIENT',
      'guard cannot work on Cloudflare D1, which has no interactive transactions: what was written before this line stays.',
    )
  }
  return prismaSqlExecutor(acquisition.dialect.name, (work) => Promise.resolve(work(transaction)))
}
