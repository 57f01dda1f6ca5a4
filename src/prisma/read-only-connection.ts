import type { PrismaClientLike } from './prisma-client'

/** As many connections as the pool of Prisma's MariaDB adapter has by default. */
const LOOKED_AT = 10

type Transaction = Parameters<Parameters<PrismaClientLike['$transaction']>[0]>[0]

/**
 * Ends a connection of the pool that leads to a read-only server. After a failover the pool of Prisma's MariaDB adapter keeps its
 * connections to the former primary, and lends them again and again. Only in a transaction does a connection stay ours from one
 * statement to the next; nothing of the app can run on it meanwhile. The pool lends one after the other, so the first may be a good
 * one. Never rejects.
 */
export async function endReadOnlyConnection(client: PrismaClientLike): Promise<void> {
  let ended = false
  const endIfReadOnly = async (transaction: Transaction): Promise<void> => {
    const [row] = (await transaction.$queryRawUnsafe(
      "select connection_id() as id, @@global.read_only not in ('0', 'OFF') as read_only",
    )) as { id: bigint; read_only: bigint }[]
    ended = Number(row?.read_only) > 0
    if (row && ended) await transaction.$executeRawUnsafe(`kill ${row.id}`)
  }
  for (let looked = 0; looked < LOOKED_AT && !(ended as boolean); looked++)
    await client.$transaction(endIfReadOnly).catch(() => undefined)
}
