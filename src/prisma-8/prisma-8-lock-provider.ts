import { activeLock, type ActiveLock, clientError } from '../core/internal'
import {
  dialects,
  guardTransaction,
  rowToPin,
  SqlLockProvider,
  type Dialect,
  type SqlLockProviderOptions,
} from '../sql/internal'
import {
  prisma8SqlClient,
  prisma8TransactionClient,
  type Prisma8ClientLike,
  type Prisma8TransactionLike,
  type RawTag,
} from './prisma-8-sql-client'

/** Carries the raw SQL tag of the client that acquired the lock, because `guard` needs one and a Prisma 8 transaction has none. */
interface Prisma8Dialect extends Dialect {
  readonly rawTag: RawTag
}

/**
 * Creates a lock provider that keeps its locks in a table of the database of Prisma 8's `db`, which is PostgreSQL. Each step is one
 * raw statement in autocommit on a pooled connection of its own. If the `db` has a single `pg.Client`, a lock waits for your open
 * transaction.
 *
 * @param db as `postgres()` of `@prisma/orm-postgres/runtime` creates it
 * @throws LockError `INVALID_CLIENT` when `db` is no such client; `INVALID_CONFIGURATION` for wrong options
 */
export function prismaLockProvider(
  db: Prisma8ClientLike,
  options: SqlLockProviderOptions = {},
): SqlLockProvider {
  const dialect: Prisma8Dialect = { ...dialects[dialectOfContract(db)], rawTag: db.raw.sql }
  return new SqlLockProvider(prisma8SqlClient(db), dialect, options)
}

/**
 * Lets a transaction of Prisma 8 commit only while the lock is held, as `guard` of `shedlock-orm/prisma` does. Call it immediately
 * before the commit:
 *
 * ```ts
 * await db.transaction(async (tx) => {
 *   // … tx.orm, tx.sql
 *   await guard(tx)
 * })
 * ```
 *
 * @param lock acquired through a provider with the same `db`; default: the innermost active lock
 * @throws LockError `LOCK_LOST` when the lock is no longer held, so that the transaction rolls back; `NOT_LOCKED` outside of a
 *   locked task; `INVALID_CLIENT` outside of a transaction, or for a lock of another client; `INVALID_CONFIGURATION` for a lock that
 *   is not kept in SQL; `DATABASE_ERROR`. A serialization failure or a deadlock is thrown as Prisma's own error: repeat the
 *   transaction
 */
export async function guard(
  transaction: Prisma8TransactionLike,
  lock: ActiveLock | undefined = activeLock(),
): Promise<void> {
  const row = await rowToPin(lock)
  if (!row) return
  if (typeof (transaction as Partial<Prisma8TransactionLike> | undefined)?.invalidated !== 'boolean')
    throw clientError(
      'guard needs an open transaction of Prisma 8 – pass the tx that db.transaction passes to its callback.',
    )
  const { rawTag } = row.table.dialect as Partial<Prisma8Dialect>
  if (!rawTag)
    throw clientError(
      `Lock '${row.name}' belongs to another client, and a transaction of Prisma 8 has no raw SQL of its own – acquire the lock with prismaLockProvider(db), from the db of the transaction.`,
      row.name,
    )
  await guardTransaction(prisma8TransactionClient(rawTag, transaction), row)
}

/** @throws LockError `INVALID_CLIENT` unless this is a db of Prisma 8 on PostgreSQL, so far the only database with a dialect here */
function dialectOfContract(db: Partial<Prisma8ClientLike> | undefined): 'postgres' {
  const { contract, raw, runtime } = db ?? {}
  const { target } = contract ?? {}
  if (typeof target !== 'string')
    throw clientError(
      'prismaLockProvider of shedlock-orm/prisma-8 got no db of Prisma 8 – pass the db itself, not the tx of a transaction, whose rollback would undo a lock. Or import from shedlock-orm/prisma for Prisma 6 and 7.',
    )
  if (target !== 'postgres')
    throw clientError(`A client of Prisma 8 for '${target}' cannot keep locks yet – supported is postgres.`)
  if (typeof runtime !== 'function')
    throw clientError(
      "This part of Prisma 8 has no runtime() – pass the db itself, as '@prisma/orm-postgres/runtime' creates it. (A db of '…/serverless' has a connection for one request only.)",
    )
  if (typeof raw?.sql !== 'function')
    throw clientError(
      'This client of Prisma 8 has no raw.sql – install @prisma/orm-postgres 8.0.0-rc.13 or later.',
    )
  return target
}
