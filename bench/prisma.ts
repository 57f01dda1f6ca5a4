import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { PrismaPg } from '@prisma/adapter-pg'
import { prismaLockProvider, type PrismaClientLike } from 'shedlock-orm/prisma'
import type { DialectName } from 'shedlock-orm/sql'
import { generateClients } from '../test/prisma/generate-clients'
import { byHand } from './floor'
import { ourOperations } from './lock-operations'
import type { Operation } from './operation'
import type { Peer } from './operation'
import { nameOf, type BenchDatabase } from './raw-clients'
import { rawLock } from './statements'

/** @param connections the size of the pool */
type OpenAdapter = (url: string, connections: number) => unknown

function prismaMariaDb(useTextProtocol: boolean): OpenAdapter {
  return (url, connectionLimit) => {
    const { hostname, port, username, password, pathname } = new URL(url)
    const login = { host: hostname, port: Number(port), user: username, password }
    return new PrismaMariaDb({ ...login, database: pathname.slice(1), connectionLimit }, { useTextProtocol })
  }
}

const mysql = {
  client: 'mysql',
  adapters: { '': prismaMariaDb(false), ', text protocol': prismaMariaDb(true) },
}

/** For each database, the generated client and the adapters, by what their rows are called after `ours: Prisma`. */
const CLIENTS: Readonly<
  Partial<Record<DialectName, { client: string; adapters: Readonly<Record<string, OpenAdapter>> }>>
> = {
  postgres: {
    client: 'postgresql',
    adapters: {
      '': (url, max) =>
        new PrismaPg(
          { connectionString: url, max },
          { statementNameGenerator: ({ sql }: { sql: string }) => nameOf(sql) },
        ),
    },
  },
  mariadb: mysql,
  mysql,
  sqlite: {
    client: 'sqlite',
    adapters: { '': (url) => new PrismaBetterSqlite3({ url: `file:${url}` }) },
  },
}

interface GeneratedClient {
  readonly PrismaClient: new (options: { adapter: unknown }) => OpenClient
}

type OpenClient = PrismaClientLike & { $disconnect(): Promise<void> }

/** Opens a client for each adapter of the database, by what its rows are called. */
export async function openClients(
  dialect: DialectName,
  url: string,
  connections = 1,
): Promise<Readonly<Record<string, OpenClient>>> {
  const known = CLIENTS[dialect]
  if (!known) throw new Error(`no Prisma client for ${dialect}`)
  await generateClients()
  const { PrismaClient } = (await import(
    `../test/prisma/generated/${known.client}/client.ts`
  )) as GeneratedClient
  return Object.fromEntries(
    Object.entries(known.adapters).map(([more, adapter]) => [
      more,
      new PrismaClient({ adapter: adapter(url, connections) }),
    ]),
  )
}

/** Opens our lock through Prisma, and returns its operations and a plain read through Prisma. */
export async function prismaOperations(
  { dialect, placeholder }: BenchDatabase,
  url: string,
  tableName: string,
  read: string,
): Promise<Peer> {
  const operations: Operation[] = []
  const clients = await openClients(dialect.name, url)
  for (const [more, prisma] of Object.entries(clients)) {
    const run = async (): Promise<unknown> => prisma.$queryRawUnsafe(read, 'held')
    operations.push({ scenario: 'read one row', who: `Prisma${more}`, run })
    const { winAndRelease } = rawLock(dialect, tableName, placeholder, async (text, values = []) =>
      // It reads if its first word, behind a comment, says so.
      /^(\s|\/\*.*?\*\/)*(with|select)\b/s.test(text)
        ? prisma.$queryRawUnsafe(text, ...values)
        : prisma.$executeRawUnsafe(text, ...values),
    )
    const statements = byHand(`Prisma${more}`)
    operations.push({ scenario: 'win + release', who: statements, run: () => winAndRelease('floor') })
    // Locks on MySQL need an adapter of their own then.
    const own = more === ', text protocol' ? { adapter: prismaMariaDb(true)(url, 1) as never } : {}
    const provider = prismaLockProvider(prisma, { tableName, ...own })
    operations.push(...(await ourOperations(`ours: Prisma${more}`, provider, 'held')))
  }
  return {
    operations,
    close: async () => {
      await Promise.all(Object.values(clients).map((each) => each.$disconnect()))
    },
  }
}
