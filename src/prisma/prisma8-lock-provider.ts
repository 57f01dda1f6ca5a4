import { LockError } from '../core'
import {
  dialectNamed,
  SqlLockProvider,
  type Dialect,
  type DialectName,
  type SqlAcquisition,
  type SqlExecutor,
  type SqlLockProviderOptions,
} from '../sql'
import {
  checkedPrisma8,
  type Prisma8ClientLike,
  type Prisma8TransactionLike,
  type RawTag,
} from './prisma8-client-like'
import { ownPrisma8Connection } from './prisma8-connection'
import { prisma8SqlExecutor } from './prisma8-sql-executor'

/** A transaction of Prisma 8 has no raw lane: the client that took the lock lends it one. */
interface Prisma8Dialect extends Dialect {
  readonly rawTag: RawTag
}

/** @throws LockError `INVALID_CLIENT`, `INVALID_CONFIGURATION` */
export function prisma8LockProvider(
  client: Partial<Prisma8ClientLike>,
  wanted: DialectName | undefined,
  options: SqlLockProviderOptions,
): SqlLockProvider {
  const [db, dialectName] = checkedPrisma8(client)
  const rawTag = db.raw.sql
  const dialect: Prisma8Dialect = { ...dialectNamed(wanted ?? dialectName), rawTag }
  return new SqlLockProvider(prisma8SqlExecutor(rawTag, ownPrisma8Connection(db)), dialect, options)
}

/** Runs statements inside the transaction. */
export function prisma8TransactionExecutor(
  transaction: Prisma8TransactionLike,
  { dialect, holder }: SqlAcquisition,
): SqlExecutor {
  const { rawTag } = dialect as Partial<Prisma8Dialect>
  if (rawTag) return prisma8SqlExecutor(rawTag, (work) => work(transaction))
  throw new LockError(
    'INVALID_CLIENT',
    `Lock '${holder.name}' belongs to another client, and a transaction of Prisma 8 has no raw SQL of its own – acquire the lock with prismaLockProvider(db), from the db of the transaction.`,
    { lockName: holder.name },
  )
}
