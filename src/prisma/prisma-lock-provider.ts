import {
  aBoolean,
  parseOptions,
  EXECUTOR_OPTIONS,
  clientError,
  FOR_MOCKS,
  LockingTaskExecutor,
  type LockingTaskExecutorOptions,
  type OptionParsers,
} from '../core/internal'
import { Preparation, sqlClient } from '../drivers/internal'
import {
  dialectNamed,
  SQL_LOCK_PROVIDER_OPTIONS,
  SqlLockProvider,
  type DialectName,
  type SqlLockProviderOptions,
} from '../sql/internal'
import { anAdapter, openerOf } from './own-connection'
import {
  adapterOf,
  dialectOfClient,
  isOfTransaction,
  originalOf,
  schemaOfModels,
  tableOfPrisma,
  type PrismaClientLike,
} from './prisma-client'
import { CONFLICTS, driverOf, runRaw } from './prisma-driver'
import { endReadOnlyConnection } from './read-only-connection'
import { sqliteOpener } from './sqlite-client'
import { preparedProtocol } from './text-protocol'

/** Options of `prismaLockProvider`. */
export interface PrismaLockProviderOptions extends SqlLockProviderOptions {
  /** The dialect of the database. Default: derived from the client's schema. */
  readonly dialect?: DialectName | undefined
  /**
   * A driver adapter that opens the locks' own connections, where the client hides its settings: on MariaDB and MySQL one with
   * `connectionLimit: 1`, because each of the connections is a pool of that size; with Prisma 5 on PostgreSQL the client's own. Default:
   * the client's adapter for pg, from Prisma 6 on; otherwise, locks use the client's connections.
   */
  readonly adapter?: { readonly adapterName: string } | undefined
  /**
   * On the locks' own connections to PostgreSQL: whether statements are prepared by name, so that the server plans each of them once
   * per connection. If a pooler refuses a name, the provider continues without names, and the process warns once. Default `true`.
   */
  readonly namedStatements?: boolean | undefined
}

const PROVIDER_OPTIONS = {
  ...SQL_LOCK_PROVIDER_OPTIONS,
  dialect: dialectNamed,
  adapter: anAdapter,
  namedStatements: aBoolean,
} satisfies OptionParsers<PrismaLockProviderOptions>

/**
 * Creates a lock provider that keeps its locks in a table of the client's database. Each step is one statement in autocommit, on a
 * connection that no transaction of yours uses, so they neither hide nor undo it: see `ownConnections`. A SQLite file is opened a second
 * time; an in-memory SQLite database has only one connection, so there a lock waits until your open transaction has ended. With the
 * read replicas extension, locks use the primary. Without the option `schema`, the table is in the schema that the adapter's options
 * name. Prisma 8 has its own `prismaLockProvider`, in `shedlock-orm/prisma-8`.
 *
 * @throws LockError `INVALID_CLIENT` when `prisma` is not a Prisma client, is the client of a transaction, or its database is not
 *   supported; `INVALID_CONFIGURATION` for wrong options
 */
export function prismaLockProvider(
  prisma: PrismaClientLike,
  options: PrismaLockProviderOptions = {},
): SqlLockProvider {
  const parsed = parseOptions(options, PROVIDER_OPTIONS, 'lock provider options')
  const { dialect: given, adapter, namedStatements = true, ...rest } = parsed
  if (typeof (prisma as PrismaClientLike | undefined)?.$executeRawUnsafe !== 'function')
    throw clientError(
      `prismaLockProvider got no client of Prisma – pass a PrismaClient, plain or extended. For Prisma 8, import prismaLockProvider from shedlock-orm/prisma-8. ${FOR_MOCKS}`,
    )
  if (isOfTransaction(prisma))
    throw clientError(
      `prismaLockProvider got a client without $connect, or the client of an interactive transaction, whose rollback would undo a lock – pass the PrismaClient itself. ${FOR_MOCKS}`,
    )
  const client = originalOf(prisma)
  const dialect = given ?? dialectNamed(dialectOfClient(client))
  const check = preparedProtocol(client)
  const driver = driverOf(dialect.name)
  const onFile =
    dialect.name === 'sqlite' ? sqliteOpener(client, adapter ?? adapterOf(client), driver) : undefined
  const isMySql = dialect.name === 'mysql' || dialect.name === 'mariadb'
  const sql = sqlClient(driver, {
    pool: client,
    source: () => adapter,
    open: onFile ?? openerOf(client, new Preparation(namedStatements), adapter),
    connect:
      onFile ??
      (async () => {
        await check()
        return { run: (...statement) => runRaw(client, ...statement) }
      }),
    dropReadOnly: isMySql ? () => endReadOnlyConnection(client) : undefined,
  })
  const transientErrors = { ...dialect.transientErrors, ...CONFLICTS }
  const ofPrisma = { ...dialect, table: tableOfPrisma(dialect), transientErrors }
  return new SqlLockProvider(sql, ofPrisma, { ...rest, schema: rest.schema ?? schemaOfModels(client) })
}

const EXTENSION_OPTIONS = {
  ...EXECUTOR_OPTIONS,
  ...PROVIDER_OPTIONS,
} satisfies OptionParsers<PrismaLockProviderOptions & LockingTaskExecutorOptions>

/** What `$extends(shedlock())` adds to the client. */
export interface ShedLockClient {
  /** Runs the task if the lock can be acquired, otherwise skips it: see `LockingTaskExecutor.executeWithLock`. */
  readonly $executeWithLock: LockingTaskExecutor['executeWithLock']
  /** Returns a function that runs the task under the lock each time it is called: see `LockingTaskExecutor.wrap`. */
  readonly $wrapWithLock: LockingTaskExecutor['wrap']
  /** The executor behind `$executeWithLock` and `$wrapWithLock`. Call its `shutdown()` before you disconnect. */
  readonly $lockingTaskExecutor: LockingTaskExecutor
  /** The lock provider, for locks by hand and for integrations that need a `LockProvider`. */
  readonly $lockProvider: SqlLockProvider
  /**
   * Disconnects as Prisma's own `$disconnect` does, but first waits up to 10 seconds for releases in the background, because a later
   * release would make Prisma connect again. It does not wait for running tasks: see `$lockingTaskExecutor.shutdown`.
   */
  readonly $disconnect: () => Promise<void>
}

// The empty object type, because an interface or `object` would not fit the index signatures of Prisma's types.
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/consistent-type-definitions
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
 * Creates a Prisma client extension, which may come before or after others:
 * `const prisma = new PrismaClient({ adapter }).$extends(shedlock({ defaultLockAtMostFor: '10m' }))`.
 *
 * @param options those of `prismaLockProvider` and of `LockingTaskExecutor`
 * @returns the extension; `$extends` throws a LockError `INVALID_CLIENT` or `INVALID_CONFIGURATION` as `prismaLockProvider` and
 *   `LockingTaskExecutor` do
 */
export function shedlock(
  options: PrismaLockProviderOptions & LockingTaskExecutorOptions = {},
): (client: PrismaClientLike) => ShedLockExtension {
  return (client) => {
    const { defaultLockAtMostFor, defaultLockAtLeastFor, listeners, dialect, ...rest } = parseOptions(
      options,
      EXTENSION_OPTIONS,
      'options of shedlock()',
    )
    const executorOptions = { defaultLockAtMostFor, defaultLockAtLeastFor, listeners } satisfies Record<
      keyof LockingTaskExecutorOptions,
      unknown
    >
    const provider = prismaLockProvider(client, { ...rest, dialect: dialect?.name })
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
