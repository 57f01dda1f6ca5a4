import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { PrismaPg } from '@prisma/adapter-pg'
import { lockStatementName, prismaLockProvider, type PrismaClientLike } from 'shedlock-orm/prisma'
import type { DialectName } from 'shedlock-orm/sql'
import { generateClients } from '../test/prisma/generate-clients'
import { ourOperations } from './lock-operations'
import type { Operation } from './operation'
import type { Peer } from './peers'

function prismaMariaDb(url: string): PrismaMariaDb {
  const { hostname, port, username, password, pathname } = new URL(url)
  return new PrismaMariaDb({
    host: hostname,
    port: Number(port),
    user: username,
    password,
    database: pathname.slice(1),
    connectionLimit: 1,
  })
}

/** @param named a statement of the bench itself to be prepared by name, like those of the lock */
function prismaPg(url: string, named?: string): PrismaPg {
  const statementNameGenerator = (query: { sql: string }): string =>
    query.sql === named ? 'bench_read' : lockStatementName(query)
  return new PrismaPg(
    { connectionString: url, max: 1 },
    named === undefined ? {} : { statementNameGenerator },
  )
}

/** The generated client and the adapter for each database. */
const CLIENTS: Readonly<
  Partial<Record<DialectName, { client: string; adapter(url: string, named?: string): unknown }>>
> = {
  postgres: { client: 'postgresql', adapter: prismaPg },
  mariadb: { client: 'mysql', adapter: prismaMariaDb },
  mysql: { client: 'mysql', adapter: prismaMariaDb },
  sqlite: { client: 'sqlite', adapter: (url) => new PrismaBetterSqlite3({ url: `file:${url}` }) },
}

interface GeneratedClient {
  readonly PrismaClient: new (options: {
    adapter: unknown
  }) => PrismaClientLike & { $disconnect(): Promise<void> }
}

/** Opens our lock through Prisma, and returns its operations and a plain read through Prisma. */
export async function prismaOperations(
  dialect: DialectName,
  url: string,
  tableName: string,
  read: string,
): Promise<Peer> {
  const known = CLIENTS[dialect]
  if (!known) throw new Error(`no Prisma client for ${dialect}`)
  await generateClients()
  const { PrismaClient } = (await import(
    `../test/prisma/generated/${known.client}/client.ts`
  )) as GeneratedClient
  const open = (named?: string) => new PrismaClient({ adapter: known.adapter(url, named) })
  const prisma = open(read)
  const operations: Operation[] = [
    { scenario: 'read one row', who: 'Prisma', run: async () => prisma.$queryRawUnsafe(read, 'held') },
    ...(await ourOperations('ours: Prisma', prismaLockProvider(prisma, { tableName }), 'held')),
  ]
  if (dialect !== 'postgres') return { operations, close: () => prisma.$disconnect() }
  const unnamed = open()
  const provider = prismaLockProvider(unnamed, { tableName })
  operations.push(...(await ourOperations('ours: Prisma, without names', provider, 'held')))
  return {
    operations,
    close: async () => {
      await prisma.$disconnect()
      await unnamed.$disconnect()
    },
  }
}
