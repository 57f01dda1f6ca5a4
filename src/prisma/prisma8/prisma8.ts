import { checkOptions, invalid, invalidClient } from '../../core/internal'
import {
  dialectNamed,
  tableSql,
  SqlLockProvider,
  TABLE_OPTIONS,
  type Dialect,
  type DialectName,
  type LockTableOptions,
  type LockRow,
  type SqlClient,
  type SqlLockProviderOptions,
} from '../../sql/internal'
import { dialectOfProvider, modelText, type FieldTypes, type PrismaProvider } from '../prisma-model'
import {
  ownConnection,
  prisma8SqlClient,
  type Prisma8ClientLike,
  type Prisma8TransactionLike,
  type RawTag,
} from './sql-client'

/** Recognises Prisma 8 by a member that no client of Prisma 6 or 7 has, whatever its models are called. */
export function isPrisma8(client: unknown): client is Prisma8ClientLike {
  return typeof (client as Partial<Prisma8ClientLike> | undefined)?.contract?.target === 'string'
}

export function isPrisma8Transaction(client: unknown): client is Prisma8TransactionLike {
  return typeof (client as Partial<Prisma8TransactionLike> | undefined)?.invalidated === 'boolean'
}

/** Carries the raw SQL tag of the client that acquired the lock, because `guard` needs one and a Prisma 8 transaction has none. */
interface Prisma8Dialect extends Dialect {
  readonly rawTag: RawTag
}

/** @throws LockError `INVALID_CLIENT`, `INVALID_CONFIGURATION` */
export function prisma8LockProvider(
  client: Partial<Prisma8ClientLike>,
  dialectOption: DialectName | undefined,
  options: SqlLockProviderOptions,
): SqlLockProvider {
  const [db, dialectName] = checked(client)
  const rawTag = db.raw.sql
  const dialect: Prisma8Dialect = { ...dialectNamed(dialectOption ?? dialectName), rawTag }
  return new SqlLockProvider(prisma8SqlClient(rawTag, ownConnection(db)), dialect, options)
}

/** @throws LockError `INVALID_CLIENT` for a lock of another client */
export function prisma8GuardClient(
  transaction: Prisma8TransactionLike,
  { table: { dialect }, name }: LockRow,
): SqlClient {
  const { rawTag } = dialect as Partial<Prisma8Dialect>
  if (rawTag) return prisma8SqlClient(rawTag, (work) => work(transaction))
  throw invalidClient(
    `Lock '${name}' belongs to another client, and a transaction of Prisma 8 has no raw SQL of its own – acquire the lock with prismaLockProvider(db), from the db of the transaction.`,
    name,
  )
}

/** Maps the `target` of a Prisma 8 contract to its dialect. */
const DIALECTS: Readonly<Record<string, DialectName>> = { postgres: 'postgres' }

/** @returns the client and the dialect of its database */
function checked(client: Partial<Prisma8ClientLike>): [Prisma8ClientLike, DialectName] {
  const { contract: { target = '' } = {}, raw, runtime } = client
  const dialect = DIALECTS[target]
  if (!dialect)
    throw invalidClient(
      `A client of Prisma 8 for '${target}' cannot keep locks yet – supported is ${Object.keys(DIALECTS).join(', ')}.`,
    )
  if (typeof runtime !== 'function')
    throw invalidClient(
      "This part of Prisma 8 has no runtime() – pass the db itself, as '@prisma/orm-postgres/runtime' creates it. (A db of '…/serverless' has a connection for one request only.)",
    )
  if (typeof raw?.sql !== 'function')
    throw invalidClient(
      'This client of Prisma 8 has no raw.sql – install @prisma/orm-postgres 8.0.0-rc.13 or later.',
    )
  return [client as Prisma8ClientLike, dialect]
}

const FIELD_TYPES: Readonly<Partial<Record<PrismaProvider, FieldTypes>>> = {
  // Not Timestamp(3), which the ORM reads as a Temporal.PlainDateTime: Node.js 22 and 24 do not have Temporal.
  postgresql: { text: (length) => `VarChar(${length})`, time: 'TimestampString(3)' },
}

/**
 * Returns a model of the lock table for the `contract.prisma` of Prisma 8. From it, `prisma migration plan` creates the table that
 * locks need, and leaves it alone afterwards.
 *
 * @throws LockError `INVALID_CONFIGURATION`, also for a provider other than `postgresql`
 */
export function prismaContract(provider: PrismaProvider, options: LockTableOptions = {}): string {
  checkOptions(options, TABLE_OPTIONS, 'contract options')
  const types = FIELD_TYPES[provider]
  if (!types) {
    throw invalid(
      `There is no lock table for Prisma 8 with '${provider}' yet – known is ${Object.keys(FIELD_TYPES).join(', ')}.`,
    )
  }
  const { names } = tableSql(dialectOfProvider(provider), options)
  const model = modelText(names, types)
  return names.schema === undefined
    ? model
    : `namespace ${names.schema} {\n${model.replaceAll(/^(?=.)/gm, '  ')}}\n`
}
