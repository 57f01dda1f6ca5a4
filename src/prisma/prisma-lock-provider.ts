import { LockError } from '../core'
import { dialectNamed, SqlLockProvider, type DialectName, type SqlLockProviderOptions } from '../sql'
import { CLIENT_DIALECTS } from './client-dialects'
import { CONFLICTS } from './native-code'
import { internals, type PrismaClientLike } from './prisma-client-like'
import { prismaSqlExecutor } from './prisma-sql-executor'
import { isPrisma8, isPrisma8Transaction, type Prisma8ClientLike } from './prisma8-client-like'
import { prisma8LockProvider } from './prisma8-lock-provider'
import { sqliteClient } from './sqlite-client'

/** Options of `prismaLockProvider`. */
export interface PrismaLockProviderOptions extends SqlLockProviderOptions {
  /** Default: what the client's schema says. */
  readonly dialect?: DialectName | undefined
}

/**
 * Keeps locks in a table of the database that the client is connected to. Each step is one raw statement in autocommit,
 * on a pooled connection beside those of your interactive transactions, which neither see nor undo it. SQLite files
 * are opened a second time; an in-memory SQLite has one connection only, so that a lock waits there until your open
 * transaction is over. Under the read-replica extension the primary is asked. Of Prisma 8 it takes the `db` of
 * `@prisma/orm-postgres/runtime`; where that has a single `pg.Client`, a lock waits until your open transaction is over.
 *
 * @throws LockError `INVALID_CLIENT` when it is no client of Prisma, or that of a transaction, or of a database that has
 *   no dialect here; `INVALID_CONFIGURATION` for wrong options
 */
export function prismaLockProvider(
  prisma: PrismaClientLike | Prisma8ClientLike,
  options: PrismaLockProviderOptions = {},
): SqlLockProvider {
  const { dialect: wanted, ...rest } = options
  if (isPrisma8(prisma)) return prisma8LockProvider(prisma, wanted, rest)
  checkClient(prisma)
  const client = primary(prisma)
  const dialect = dialectNamed(wanted ?? dialectOf(client))
  const use = dialect.name === 'sqlite' ? sqliteClient(client) : undefined
  const named = dialect.name === 'postgres'
  const executor = prismaSqlExecutor(dialect.name, use ?? ((work) => work(client)), { named })
  const conflict = { ...dialect.errors.conflict, ...CONFLICTS }
  return new SqlLockProvider(executor, { ...dialect, errors: { ...dialect.errors, conflict } }, rest)
}

function checkClient(client: unknown): void {
  const { $connect, $executeRawUnsafe } = (client ?? {}) as Partial<PrismaClientLike>
  const inTransaction = isPrisma8Transaction(client)
  if (!inTransaction && typeof $executeRawUnsafe !== 'function') {
    throw new LockError(
      'INVALID_CLIENT',
      'prismaLockProvider needs a PrismaClient, plain or extended, or the db of Prisma 8.',
    )
  }
  if (inTransaction || typeof $connect !== 'function') {
    throw new LockError(
      'INVALID_CLIENT',
      'prismaLockProvider got the client of an interactive transaction, whose rollback would undo a lock – pass the PrismaClient itself, or the db of Prisma 8.',
    )
  }
}

/** What @prisma/extension-read-replicas adds: a replica would answer with yesterday's row. */
function primary(client: PrismaClientLike & { $primary?: () => PrismaClientLike }): PrismaClientLike {
  return typeof client.$primary === 'function' ? client.$primary() : client
}

function dialectOf(client: PrismaClientLike): DialectName {
  const { _activeProvider, _engineConfig } = internals(client)
  const provider = _activeProvider ?? _engineConfig?.adapter?.provider
  const name = CLIENT_DIALECTS[provider ?? '']
  if (!name) {
    throw new LockError(
      'INVALID_CLIENT',
      provider === undefined
        ? 'The client does not tell which database it uses – set the option dialect.'
        : `A PrismaClient for '${provider}' cannot keep locks – supported are ${Object.keys(CLIENT_DIALECTS).join(', ')}.`,
    )
  }
  return name
}
