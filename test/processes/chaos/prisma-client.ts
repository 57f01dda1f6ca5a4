import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  guard,
  prismaLockProvider,
  type PrismaClientLike,
  type RawClientLike,
} from '../../../src/prisma/internal'
import { ADAPTERS, connect, type TestClient } from '../../prisma/adapters'
import { WORKER } from '../servers/tcp-proxy'
import { breakStatements } from './break-statements'
import {
  SERIALIZABLE_MYSQL,
  SERIALIZABLE_POSTGRES,
  type ConnectionByParts,
  type DialectByUrl,
} from './chaos-database'
import { spelled, type WorkerClient, type WorkerClientOptions } from './worker-client'

type Rewrite = (text: string) => string

const PROVIDERS = { postgres: 'postgresql', mariadb: 'mysql', mysql: 'mysql', sqlite: 'sqlite' }

export async function prismaClient({
  connection,
  timeLimit,
  broken,
}: WorkerClientOptions): Promise<WorkerClient> {
  const { dialect } = connection
  const placeholder = dialect === 'mssql' ? (position: number) => `@P${position + 1}` : undefined
  const rewrite = breakStatements(broken, dialect)
  const prisma = await ('url' in connection ? clientByUrl(connection) : clientByParts(connection, broken))
  await prisma.$queryRawUnsafe('select 1')
  return {
    provider: prismaLockProvider(broken === undefined ? prisma : brokenClient(prisma, rewrite), {
      timeLimit,
      lockedBy: WORKER,
    }),
    transaction: (work) =>
      prisma.$transaction(
        (tx) =>
          work({
            execute: async (statement, values) => {
              await tx.$executeRawUnsafe(spelled(statement, dialect, placeholder), ...values)
            },
            rows: async (statement, values) =>
              (await tx.$queryRawUnsafe(spelled(statement, dialect, placeholder), ...values)) as Record<
                string,
                unknown
              >[],
            guard: () => (broken === 'guard' ? Promise.resolve() : guard(brokenRaw(tx, rewrite))),
          }),
        { maxWait: 5_000, timeout: 60_000 },
      ),
    close: () => prisma.$disconnect(),
  }
}

async function clientByParts(
  connection: ConnectionByParts,
  broken: WorkerClientOptions['broken'],
): Promise<TestClient> {
  const { dialect } = connection
  const { PrismaClient } = (await import(`../../prisma/generated/${PROVIDERS[dialect]}/client.ts`)) as {
    PrismaClient: new (options: object) => TestClient
  }
  const adapter = adapterFor(connection)
  if (broken !== undefined && dialect === 'sqlite')
    breakAdapter(adapter as unknown as BreakableAdapter, breakStatements(broken, dialect))
  return new PrismaClient({ adapter })
}

function clientByUrl({ dialect, url }: { dialect: DialectByUrl; url: string }): Promise<TestClient> {
  const adapter = ADAPTERS.find(({ backend }) => backend === dialect)
  if (!adapter) throw new Error(`Prisma has no adapter for ${dialect}.`)
  return connect(adapter, url, { max: 5, pool: { max: 5 } })
}

function adapterFor({ dialect, host, port, user, database, serializable }: ConnectionByParts) {
  switch (dialect) {
    case 'postgres':
      return new PrismaPg({
        host,
        port,
        database,
        user,
        max: 5,
        ...(serializable ? { options: SERIALIZABLE_POSTGRES } : {}),
      })
    case 'mariadb':
    case 'mysql':
      return new PrismaMariaDb({
        host,
        port,
        database,
        user,
        connectionLimit: 5,
        ...(serializable ? { initSql: SERIALIZABLE_MYSQL } : {}),
      })
    case 'sqlite':
      return new PrismaBetterSqlite3({ url: `file:${database}`, timeout: 250 })
  }
}

function brokenRaw(client: RawClientLike, rewrite: Rewrite): RawClientLike {
  return {
    $executeRawUnsafe: (text, ...values) => client.$executeRawUnsafe(rewrite(text), ...values),
    $queryRawUnsafe: (text, ...values) => client.$queryRawUnsafe(rewrite(text), ...values),
  }
}

function brokenClient(client: PrismaClientLike, rewrite: Rewrite): PrismaClientLike {
  const { _activeProvider, _engineConfig } = client as { _activeProvider?: unknown; _engineConfig?: unknown }
  return {
    ...brokenRaw(client, rewrite),
    $connect: () => client.$connect(),
    $transaction: (work, options) => client.$transaction(work, options),
    ...{ _activeProvider, _engineConfig },
  }
}

interface BreakableAdapter {
  connect(): Promise<Record<'executeRaw' | 'queryRaw', (query: { sql: string }) => unknown>>
}

/** Rewrites the statements of the adapter's own connections too, because the lock opens a SQLite file a second time. */
function breakAdapter(adapter: BreakableAdapter, rewrite: Rewrite): void {
  const connect = adapter.connect.bind(adapter)
  adapter.connect = async () => {
    const connection = await connect()
    for (const method of ['executeRaw', 'queryRaw'] as const) {
      const call = connection[method].bind(connection)
      connection[method] = (query) => call({ ...query, sql: rewrite(query.sql) })
    }
    return connection
  }
}
