import { invalidClient } from '../../core'
import {
  dialectNamed,
  SqlLockProvider,
  type Dialect,
  type DialectName,
  type SqlAcquisition,
  type SqlExecutor,
  type SqlLockProviderOptions,
} from '../../sql'
import {
  ownConnection,
  prisma8SqlExecutor,
  type Prisma8ClientLike,
  type Prisma8TransactionLike,
  type RawTag,
} from './sql-executor'

/** What a client of Prisma 8 is for: its `db` for locks, a transaction of it for the guard. */
interface Prisma8 {
  /** @throws LockError `INVALID_CLIENT`, `INVALID_CONFIGURATION` */
  lockProvider?(wanted: DialectName | undefined, options: SqlLockProviderOptions): SqlLockProvider
  /** @throws LockError `INVALID_CLIENT` for a lock of another client */
  guardExecutor?(acquisition: SqlAcquisition): SqlExecutor
}

/** @returns `undefined` for what is not Prisma 8's; known by what no client of Prisma 6 or 7 has, whatever its models are called */
export function prisma8(client: unknown): Prisma8 | undefined {
  const { contract, invalidated } = (client ?? {}) as Partial<Prisma8ClientLike & Prisma8TransactionLike>
  if (typeof contract?.target === 'string')
    return { lockProvider: (wanted, options) => lockProvider(client as object, wanted, options) }
  if (typeof invalidated === 'boolean')
    return { guardExecutor: (acquisition) => guardExecutor(client as Prisma8TransactionLike, acquisition) }
  return undefined
}

/** A transaction of Prisma 8 has no raw lane: the client that acquired the lock lends it one. */
interface Prisma8Dialect extends Dialect {
  readonly rawTag: RawTag
}

function lockProvider(
  client: Partial<Prisma8ClientLike>,
  wanted: DialectName | undefined,
  options: SqlLockProviderOptions,
): SqlLockProvider {
  const [db, dialectName] = checked(client)
  const rawTag = db.raw.sql
  const dialect: Prisma8Dialect = { ...dialectNamed(wanted ?? dialectName), rawTag }
  return new SqlLockProvider(prisma8SqlExecutor(rawTag, ownConnection(db)), dialect, options)
}

function guardExecutor(
  transaction: Prisma8TransactionLike,
  { dialect, holder }: SqlAcquisition,
): SqlExecutor {
  const { rawTag } = dialect as Partial<Prisma8Dialect>
  if (rawTag) return prisma8SqlExecutor(rawTag, (work) => work(transaction))
  throw invalidClient(
    `Lock '${holder.name}' belongs to another client, and a transaction of Prisma 8 has no raw SQL of its own – acquire the lock with prismaLockProvider(db), from the db of the transaction.`,
    holder.name,
  )
}

/** The targets of Prisma 8's contracts. */
const DIALECTS: Readonly<Record<string, DialectName>> = { postgres: 'postgres' }

/** @returns the client with the dialect of its database */
function checked(client: Partial<Prisma8ClientLike>): [Prisma8ClientLike, DialectName] {
  const { contract: { target = '' } = {}, raw, runtime } = client
  const dialect = DIALECTS[target]
  if (!dialect)
    throw invalidClient(
      `A client of Prisma 8 for '${target}' cannot keep locks yet – supported is ${Object.keys(DIALECTS).join(', ')}.`,
    )
  if (typeof runtime !== 'function')
    throw invalidClient(
      "This part of Prisma 8 has no runtime() – pass the db itself, as '@prisma/orm-postgres/runtime' makes it. (A db of '…/serverless' has a connection for one request only.)",
    )
  if (typeof raw?.sql !== 'function')
    throw invalidClient(
      'This client of Prisma 8 has no raw.sql – install @prisma/orm-postgres 8.0.0-rc.13 or later.',
    )
  return [client as Prisma8ClientLike, dialect]
}
