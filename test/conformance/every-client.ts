import type { DataSource } from 'typeorm'
import { beforeAll } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import type { DialectName } from '../../src/sql/dialect'
import type { SqlClient } from '../../src/sql/session'
import type { SqlLockProvider, SqlLockProviderOptions } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterBlock, afterTest } from '../after-test'
import { availableBackends, type Backend, type TestDatabase } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { prismaBackends, type PrismaTestDatabase } from '../prisma/clients'
import { createLockTable, type observeLockTable } from './lock-table-observer'
import { onEachConnection, prismaSettings, typeOrmSettings, type SessionSettings } from './session-settings'
import { prismaClient, typeOrmClient } from './sql-clients'
import { senderOf, type StatementSender } from '../statement-sender'

/** A database of its own with a lock table, the client under test, and a look past it. */
export interface OpenClient {
  readonly url: string
  readonly sqlClient: SqlClient
  /** Sends one statement with the client. */
  readonly executor: StatementSender
  /** Runs a statement as the app does with its ORM. */
  readonly app: (statement: string) => Promise<unknown>
  readonly table: ReturnType<typeof observeLockTable>
  readonly observer: DataSource
  createProvider(options?: SqlLockProviderOptions): SqlLockProvider
}

/** One ORM on one backend. */
export interface ClientCase {
  readonly title: string
  readonly backend: string
  readonly dialect: DialectName
  readonly orm: 'TypeORM' | 'Prisma'
  /**
   * @param settings of every session of the client under test, such as `{ sql_mode: 'ANSI_QUOTES' }`
   * @param options of the pool or the driver, as this ORM takes them
   * @param after when it is closed
   */
  open(settings?: SessionSettings, options?: object, after?: typeof afterTest): Promise<OpenClient>
}

/** TypeORM and Prisma on every backend that several connections can share, with locks on the connections of the app's pool. */
export function everyClient(): ClientCase[] {
  const typeOrm = availableBackends().filter(({ shared }) => shared)
  // Without libsql: it and the observer's library must not have one file open in one process.
  const prisma = prismaBackends().filter(({ shared, adapter }) => shared && adapter !== 'libsql')
  return [
    ...typeOrm.map((backend) =>
      clientCase('TypeORM', backend, async ({ connect }, settings, options) => {
        const { dialect } = backend
        const dataSource = await connect({ ...typeOrmSettings(dialect, settings), ...options })
        onEachConnection(dataSource, dialect, settings)
        return {
          sqlClient: typeOrmClient(dataSource, dialect),
          app: (statement) => dataSource.query(statement),
          createProvider: (wanted) => typeOrmLockProvider(dataSource, wanted),
        }
      }),
    ),
    ...prisma.map((backend) =>
      clientCase<PrismaTestDatabase>('Prisma', backend, async ({ database }, settings, options) => {
        const { dialect } = backend
        const all = { ...prismaSettings(dialect, settings), ...options }
        const prisma = await database.connect(all)
        // MySQL's text protocol needs an adapter for the locks.
        const own =
          'adapter' in options ? { adapter: await database.ownAdapter(all), ownConnections: 10 } : {}
        return {
          sqlClient: prismaClient(prisma, dialect),
          app: async (statement) => prisma.$executeRawUnsafe(statement),
          createProvider: (wanted) => prismaLockProvider(prisma, { ...wanted, ...own }),
        }
      }),
    ),
  ]
}

/** One that is open for all tests of a `describe`. */
export function openedClient(
  each: Pick<ClientCase, 'open'>,
  settings?: SessionSettings,
  options?: object,
): OpenClient {
  const after = afterBlock()
  let client: OpenClient
  beforeAll(async () => {
    client = await each.open(settings, options, after)
  })
  return new Proxy({} as OpenClient, { get: (_, member) => Reflect.get(client, member) as unknown })
}

function clientCase<Database extends TestDatabase>(
  orm: ClientCase['orm'],
  backend: Pick<Backend, 'name' | 'dialect'> & { create(): Promise<Database> },
  connect: (
    opened: OpenDatabase<Database>,
    settings: SessionSettings,
    options: object,
  ) => Promise<Pick<OpenClient, 'sqlClient' | 'app' | 'createProvider'>>,
): ClientCase {
  const { name, dialect } = backend
  return {
    ...{ title: `${orm} on ${name}`, backend: name, dialect, orm },
    open: async (settings = {}, options = {}, after = afterTest) => {
      const opened = await openDatabase(backend, {}, after)
      const observer = opened.dataSource
      const table = await createLockTable(observer, dialect)
      const { createProvider, sqlClient, app } = await connect(opened, settings, options)
      const providers: SqlLockProvider[] = []
      // As an app does: a release in the background would make Prisma connect again, and keep that pool open.
      after(async () => {
        for (const provider of providers) await provider.drain('5s')
      })
      return {
        ...{ url: opened.database.url, sqlClient, executor: senderOf(sqlClient), app, table, observer },
        createProvider: (wanted) => {
          // How fast the machine is must not matter.
          const provider = createProvider({ timeLimit: '1m', ownConnections: 0, ...wanted })
          providers.push(provider)
          return provider
        },
      }
    },
  }
}
