import { sql } from '../sql'
import type { Prisma8ClientLike } from './prisma8-client-like'
import { prisma8Plan, type UsePrisma8 } from './prisma8-sql-executor'

/**
 * A connection of its own for each statement, in autocommit. Not the runtime itself: where the app gave one `pg.Client`
 * instead of a pool, its statements would join the open transaction; a connection waits until that is over.
 */
export function ownPrisma8Connection(db: Prisma8ClientLike): UsePrisma8 {
  let markerRead = false
  return async (work) => {
    const runtime = db.runtime()
    if (!markerRead) {
      // The first statement of a runtime reads the contract's marker, on another connection: in a pool of one it would
      // wait for ours.
      await runtime.query(prisma8Plan(db.raw.sql, sql`select 1`, {}))
      markerRead = true
    }
    const connection = await runtime.connection()
    try {
      return await work(connection)
    } finally {
      await connection.release()
    }
  }
}
