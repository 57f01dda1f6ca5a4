import { dialects } from '../../src/sql/dialects'
import { tableDefinition } from '../../src/sql/table/definition'
import { afterTest } from '../after-test'
import type { PrismaBackend } from './clients'

/**
 * A database of its own with the lock table and `orders`, which stands for the app's own tables, and a client.
 * @param after when it goes, with its clients: `afterTest`, or `afterFile`
 */
export async function openPrisma(backend: PrismaBackend, after = afterTest, options: object = {}) {
  const database = await backend.create()
  after(() => database.drop())
  const prisma = await database.connect({ ...options })
  const orders = 'create table orders (id integer primary key, note varchar(64))'
  for (const statement of [...tableDefinition(dialects[backend.dialect]).up, orders])
    await prisma.$executeRawUnsafe(statement)
  return { database, prisma }
}
