import { dialects, tableDefinition, type DialectName } from '../../src/sql/internal'
import { afterTest } from '../after-test'
import type { PrismaBackend, TestClient } from './clients'

/** Makes the lock table, and `orders`, which stands for the app's own tables. */
export async function createTables(prisma: TestClient, name: DialectName): Promise<void> {
  for (const statement of tableDefinition(dialects[name]).up) await prisma.$executeRawUnsafe(statement)
  await prisma.$executeRawUnsafe('create table orders (id integer primary key, note varchar(64))')
}

/**
 * A database of its own with these tables, and a client.
 * @param after when it goes, with its clients: `afterTest`, or `afterFile`
 */
export async function openPrisma(backend: PrismaBackend, after = afterTest) {
  const database = await backend.create()
  after(() => database.drop())
  const prisma = await database.connect()
  await createTables(prisma, backend.dialect)
  return { database, prisma }
}
