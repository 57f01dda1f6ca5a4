import {
  checkOptions,
  EXECUTOR_OPTIONS,
  invalidClient,
  LockingTaskExecutor,
  type LockingTaskExecutorOptions,
} from '../core'
import {
  dialectNamed,
  SQL_LOCK_PROVIDER_OPTIONS,
  SqlLockProvider,
  type DialectName,
  type SqlLockProviderOptions,
} from '../sql'
import { CONFLICTS } from './native-code'
import { dialectOf, primaryOf, type PrismaClientLike } from './prisma-client'
import { prismaSqlExecutor } from './prisma-sql-executor'
import type { Prisma8ClientLike } from './prisma8/sql-executor'
import { isPrisma8, isPrisma8Transaction, prisma8LockProvider } from './prisma8/prisma8'
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
 * transaction is over. Under the read-replica extension it uses the primary. Of Prisma 8 it wants the `db` of
 * `@prisma/orm-postgres/runtime`; where that has a single `pg.Client`, a lock waits as in SQLite's memory.
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
  const isTransactionOf8 = isPrisma8Transaction(prisma)
  const { $connect, $executeRawUnsafe } = (prisma as Partial<PrismaClientLike> | undefined) ?? {}
  if (!isTransactionOf8 && typeof $executeRawUnsafe !== 'function')
    throw invalidClient('prismaLockProvider needs a PrismaClient, plain or extended, or the db of Prisma 8.')
  if (isTransactionOf8 || typeof $connect !== 'function')
    throw invalidClient(
      'prismaLockProvider got the client of an interactive transaction, whose rollback would undo a lock – pass the PrismaClient itself, or the db of Prisma 8.',
    )
  const client = primaryOf(prisma)
  const dialect = dialectNamed(wanted ?? dialectOf(client))
  const use = dialect.name === 'sqlite' ? sqliteClient(client) : undefined
  const named = dialect.name === 'postgres'
  const executor = prismaSqlExecutor(dialect.name, use ?? ((work) => work(client)), { named })
  const transientErrors = { ...dialect.transientErrors, ...CONFLICTS }
  return new SqlLockProvider(executor, { ...dialect, transientErrors }, rest)
}

/** Options of `shedlock()`: those of the lock provider and of the executor. */
export interface ShedLockExtensionOptions extends PrismaLockProviderOptions, LockingTaskExecutorOptions {}

const OPTIONS: readonly string[] = [
  ...EXECUTOR_OPTIONS,
  'dialect',
  ...SQL_LOCK_PROVIDER_OPTIONS,
] satisfies (keyof ShedLockExtensionOptions)[]

/** What `$extends(shedlock())` adds to the client. */
export interface ShedLockClient {
  /** Runs the task if the lock can be acquired, else skips it: see `LockingTaskExecutor.executeWithLock`. */
  readonly $executeWithLock: LockingTaskExecutor['executeWithLock']
  /** The task as a function that runs under the lock each time it is called: see `LockingTaskExecutor.wrap`. */
  readonly $wrapWithLock: LockingTaskExecutor['wrap']
  /** The executor behind these two, to `shutdown()` before you disconnect. */
  readonly $lockingTaskExecutor: LockingTaskExecutor
  /** For locks by hand, and for integrations that want a `LockProvider`. */
  readonly $lockProvider: SqlLockProvider
}

// Prisma's types say nothing like this; an interface or `object` would not fit their index signatures.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/consistent-type-definitions
type Nothing = {}

/** How Prisma's types write down what an extension adds. */
export interface ShedLockExtension {
  $extends: {
    extArgs: {
      result: Nothing
      model: Nothing
      query: Nothing
      client: { [Member in keyof ShedLockClient]: () => ShedLockClient[Member] }
    }
  }
}

/**
 * A Prisma client extension: `const prisma = new PrismaClient({ adapter }).$extends(shedlock({ defaultLockAtMostFor: '10m' }))`.
 * Takes the options of `prismaLockProvider` and of `LockingTaskExecutor`, and may come before or after other extensions.
 *
 * `$extends` throws LockError `INVALID_CLIENT` and `INVALID_CONFIGURATION`, as those two do.
 */
export function shedlock(
  options: ShedLockExtensionOptions = {},
): (client: PrismaClientLike) => ShedLockExtension {
  const { defaultLockAtMostFor, defaultLockAtLeastFor, listeners, ...providerOptions } = options
  const executorOptions = { defaultLockAtMostFor, defaultLockAtLeastFor, listeners }
  return (client) => {
    checkOptions(options, OPTIONS, 'options of shedlock()')
    const provider = prismaLockProvider(client, providerOptions)
    const executor = new LockingTaskExecutor(provider, executorOptions)
    const members: ShedLockClient = {
      $executeWithLock: executor.executeWithLock.bind(executor),
      $wrapWithLock: executor.wrap.bind(executor),
      $lockingTaskExecutor: executor,
      $lockProvider: provider,
    }
    return (client as unknown as ExtendableClient).$extends({ name: 'shedlock', client: members })
  }
}

interface ExtendableClient {
  $extends(extension: { name: string; client: ShedLockClient }): ShedLockExtension
}
