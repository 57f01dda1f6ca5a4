import { activeLock, type ActiveLock, clientError } from '../core/internal'
import { sqlClient } from '../drivers/internal'
import { guardTransaction, outsideError, rowToPin } from '../sql/internal'
import { adapterOf, isOfTransaction, type RawClientLike } from './prisma-client'
import { driverOf, runRaw } from './prisma-driver'

/** With these adapters, a transaction's callback gets a client that commits each statement: https://pris.ly/d/d1-transactions */
const WITHOUT_TRANSACTIONS = /^@prisma\/adapter-d1(-http)?$/

/** The client of an interactive transaction. Unlike other clients it has no `$connect`. */
export interface TransactionClientLike extends RawClientLike {
  readonly $connect?: never
}

/**
 * Lets an interactive transaction commit only while the lock is held, so that a task whose process stalled until its lease expired
 * cannot commit stale work. Call it immediately before the commit: from then until the commit, neither an extension nor another
 * holder can change the lock's row.
 *
 * ```ts
 * await prisma.$transaction(async (tx) => {
 *   await tx.report.create({ data: report })
 *   await guard(tx)
 * })
 * ```
 *
 * The lock table must be in the same database as the transaction. Prisma 8 has its own `guard`, in `shedlock-orm/prisma-8`.
 *
 * @param lock default: the innermost active lock
 * @throws LockError `LOCK_LOST` when the lock is no longer held, so that the transaction rolls back; `NOT_LOCKED` outside of a
 *   locked task; `INVALID_CLIENT` outside of a transaction, or on Cloudflare D1; `INVALID_CONFIGURATION` for a lock that is not
 *   kept in SQL; `DATABASE_ERROR`. A serialization failure, a deadlock or a busy file is thrown as Prisma's own error: repeat the
 *   transaction
 */
export async function guard(
  transaction: TransactionClientLike,
  lock: ActiveLock | undefined = activeLock(),
): Promise<void> {
  const row = await rowToPin(lock)
  if (!row) return
  const client = transaction as RawClientLike
  if (!isOfTransaction(client) || typeof client.$queryRawUnsafe !== 'function') {
    throw outsideError(
      'pass the client that the transaction passes to its callback. For Prisma 8, import guard from shedlock-orm/prisma-8.',
    )
  }
  if (WITHOUT_TRANSACTIONS.test(adapterOf(client)?.adapterName ?? '')) {
    throw clientError(
      'guard cannot work on Cloudflare D1, which has no interactive transactions, so what was written before this call is not rolled back – use a fencing token instead.',
    )
  }
  const driver = driverOf(row.table.dialect.name)
  await guardTransaction(
    sqlClient(driver, (...statement) => runRaw(client, ...statement)),
    row,
  )
}
