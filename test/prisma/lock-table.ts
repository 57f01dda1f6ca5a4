import { dialects, tableDefinition, type DialectName } from '../../src/sql'
import type { TestClient } from './clients'

/** Makes the lock table, and `orders`, which stands for the app's own tables. */
export async function createTables(prisma: TestClient, name: DialectName): Promise<void> {
  for (const statement of tableDefinition(dialects[name]).up) await prisma.$executeRawUnsafe(statement)
  await prisma.$executeRawUnsafe('create table orders (id integer primary key, note varchar(64))')
}
