import type { PrismaClientLike, RawClientLike } from './prisma-client'

/** The default size of the pool of Prisma's MariaDB adapter. */
const POOL_SIZE = 10

/**
 * Ends one pooled connection to a read-only server. After a failover, the pool of Prisma's MariaDB adapter keeps lending its
 * connections to the former primary. A transaction is needed to check a connection and then kill that same one, with no statement of
 * the app in between. The pool lends its connections in turn, so it may take several attempts to find one. As soon as it lends one
 * again, the others are in use, and further attempts would only take it from locks. Never rejects.
 */
export async function endReadOnlyConnection(client: PrismaClientLike): Promise<void> {
  let isOver = false
  const seen = new Set<bigint>()
  const endIfReadOnly = async (transaction: RawClientLike): Promise<void> => {
    const [row] = (await transaction.$queryRawUnsafe(
      "select connection_id() as id, @@global.read_only not in ('0', 'OFF') as read_only",
    )) as { id: bigint; read_only: bigint }[]
    if (!row || seen.has(row.id)) {
      isOver = true
      return
    }
    seen.add(row.id)
    // A session may be read-only by itself. MariaDB and MySQL name that setting differently.
    const ofSession = (await transaction.$queryRawUnsafe(
      "show session variables where variable_name in ('tx_read_only', 'transaction_read_only') and value = 'ON'",
    )) as unknown[]
    isOver = Number(row.read_only) > 0 || ofSession.length > 0
    if (isOver) await transaction.$executeRawUnsafe(`kill ${row.id}`)
  }
  for (let attempt = 0; attempt < POOL_SIZE && !(isOver as boolean); attempt++)
    await client.$transaction(endIfReadOnly).catch(() => undefined)
}
