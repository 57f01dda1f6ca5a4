import {
  checkOptions,
  EXECUTOR_OPTIONS,
  invalidClient,
  LockingTaskExecutor,
  type LockingTaskExecutorOptions,
  type OptionChecks,
} from '../core/internal'
import {
  dialectNamed,
  SQL_LOCK_PROVIDER_OPTIONS,
  SqlLockProvider,
  type DialectName,
  type SqlLockProviderOptions,
} from '../sql/internal'
import { CONFLICTS } from './native-code'
import { dialectOf, primaryOf, type PrismaClientLike } from './prisma-client'
import { prismaSqlExecutor } from './prisma-sql-executor'
import type { Prisma8ClientLike } from './prisma8/sql-executor'
import { isPrisma8, isPrisma8Transaction, prisma8LockProvider } from './prisma8/prisma8'
import { endReadOnlyConnection } from './read-only-connection'
import { sqliteClient } from './sqlite-client'

/** Options of `prismaLockProvider`. */
export interface PrismaLockProviderOptions extends SqlLockProviderOptions {
  /** The dialect of the database. Default: as the client's schema says. */
  readonly dialect?: DialectName | undefined
}

const PROVIDER_OPTIONS = {
  ...SQL_LOCK_PROVIDER_OPTIONS,
  dialect: dialectNamed,
} satisfies OptionChecks<PrismaLockProviderOptions>

/**
 * Creates a lock provider that keeps its locks in a table of the client's database. Each step is one raw statement in autocommit, on
 * another pooled connection than your interactive transactions, which neither see nor undo it. A SQLite file is opened a second time; a
 * SQLite database in memory has only one connection, so there a lock waits until your open transaction has ended. Under the extension
 * for read replicas it uses the primary. With Prisma 8 pass the `db` of `@prisma/orm-postgres/runtime`; where that has a single
 * `pg.Client`, a lock waits for your open transaction too.
 *
 * @throws LockError `INVALID_CLIENT` when `prisma` is not a client of Prisma, or is that of a transaction, or its database has no
 *   dialect here; `INVALID_CONFIGURATION` for wrong options
 */
export function prismaLockProvider(
  prisma: PrismaClientLike | Prisma8ClientLike,
  options: PrismaLockProviderOptions = {},
): SqlLockProvider {
  checkOptions(options, PROVIDER_OPTIONS, 'lock provider options')
  const { dialect: wanted, ...rest } = options
  if (isPrisma8(prisma)) return prisma8LockProvider(prisma, wanted, rest)
  const isTransactionOf8 = isPrisma8Transaction(prisma)
  const { $connect, $executeRawUnsafe } = (prisma as Partial<PrismaClientLike> | undefined) ?? {}
  if (!isTransactionOf8 && typeof $executeRawUnsafe !== 'function')
    throw invalidClient(
      'prismaLockProvider got no client of Prisma – pass a PrismaClient, plain or extended, or the db of Prisma 8.',
    )
  if (isTransactionOf8 || typeof $connect !== 'function')
    throw invalidClient(
      'prismaLockProvider got the client of an interactive transaction, whose rollback would undo a lock – pass the PrismaClient itself, or the db of Prisma 8.',
    )
  const client = primaryOf(prisma)
  const dialect = dialectNamed(wanted ?? dialectOf(client))
  const use = dialect.name === 'sqlite' ? sqliteClient(client) : undefined
  const named = dialect.name === 'postgres'
  const leave = dialect.name === 'mysql' ? () => endReadOnlyConnection(client) : undefined
  const executor = prismaSqlExecutor(dialect.name, use ?? ((work) => work(client)), { named, leave })
  const transientErrors = { ...dialect.transientErrors, ...CONFLICTS }
  return new SqlLockProvider(executor, { ...dialect, transientErrors }, rest)
}

/** Options of `shedlock()`: those of `prismaLockProvider` and of `LockingTaskExecutor`. */
export interface ShedLockExtensionOptions extends PrismaLockProviderOptions, LockingTaskExecutorOptions {}

const EXTENSION_OPTIONS = {
  ...EXECUTOR_OPTIONS,
  ...PROVIDER_OPTIONS,
} satisfies OptionChecks<ShedLockExtensionOptions>

/** What `$extends(shedlock())` adds to the client. */
export interface ShedLockClient {
  /** Runs the task if the lock can be acquired, else skips it: see `LockingTaskExecutor.executeWithLock`. */
  readonly $executeWithLock: LockingTaskExecutor['executeWithLock']
  /** Makes a function that runs the task under the lock each time it is called: see `LockingTaskExecutor.wrap`. */
  readonly $wrapWithLock: LockingTaskExecutor['wrap']
  /** The executor behind these two. Call its `shutdown()` before you disconnect. */
  readonly $lockingTaskExecutor: LockingTaskExecutor
  /** The lock provider, for locks by hand and for integrations that need a `LockProvider`. */
  readonly $lockProvider: SqlLockProvider
  /**
   * Disconnects as Prisma's own `$disconnect` does, after the releases in the background, for which it waits up to 10 seconds: a
   * later one would make Prisma connect again. It does not wait for tasks that run: see `$lockingTaskExecutor.shutdown`.
   */
  readonly $disconnect: () => Promise<void>
}

// Prisma's types say nothing like this; an interface or `object` would not fit their index signatures.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/consistent-type-definitions
type Nothing = {}

/** What the extension adds to a client, in the form that Prisma's types expect. */
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
 * Makes a client extension of Prisma: `const prisma = new PrismaClient({ adapter }).$extends(shedlock({ defaultLockAtMostFor: '10m' }))`.
 * It may come before or after other extensions.
 *
 * @param options those of `prismaLockProvider` and of `LockingTaskExecutor`
 * @returns the extension; `$extends` throws a LockError `INVALID_CLIENT` or `INVALID_CONFIGURATION`, as those two do
 */
export function shedlock(
  options: ShedLockExtensionOptions = {},
): (client: PrismaClientLike) => ShedLockExtension {
  return (client) => {
    checkOptions(options, EXTENSION_OPTIONS, 'options of shedlock()')
    const { defaultLockAtMostFor, defaultLockAtLeastFor, listeners, ...providerOptions } = options
    const executorOptions = { defaultLockAtMostFor, defaultLockAtLeastFor, listeners }
    const provider = prismaLockProvider(client, providerOptions)
    const executor = new LockingTaskExecutor(provider, executorOptions)
    const extendable = client as unknown as ExtendableClient
    const members: ShedLockClient = {
      $executeWithLock: executor.executeWithLock.bind(executor),
      $wrapWithLock: executor.wrap.bind(executor),
      $lockingTaskExecutor: executor,
      $lockProvider: provider,
      $disconnect: async () => {
        await provider.drain()
        await extendable.$disconnect()
      },
    }
    return extendable.$extends({ name: 'shedlock', client: members })
  }
}

interface ExtendableClient {
  $disconnect(): Promise<void>
  $extends(extension: { name: string; client: ShedLockClient }): ShedLockExtension
}
