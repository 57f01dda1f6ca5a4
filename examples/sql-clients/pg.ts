import type { Pool, PoolClient } from 'pg'
import { drivers, sqlClient, type RunStatement } from 'shedlock-orm/drivers'
import { dialects, guard, SqlLockProvider, type SqlLockProviderOptions } from 'shedlock-orm/sql'

/** Opens a session for each call, so that a connection that gives no answer is closed, and the pool opens a new one. */
export function pgLockProvider(pool: Pool, options?: SqlLockProviderOptions): SqlLockProvider {
  const client = sqlClient(drivers.postgres, {
    connect: async () => {
      const connection = await pool.connect()
      return {
        run: runOn(connection),
        release: () => {
          connection.release()
        },
        end: () => {
          connection.release(true)
        },
      }
    },
  })
  return new SqlLockProvider(client, dialects.postgres, options)
}

/** The last call of a transaction: lets it commit only while the active lock is held. */
export function pgGuard(connection: PoolClient): Promise<void> {
  return guard(sqlClient(drivers.postgres, runOn(connection)))
}

function runOn(connection: PoolClient): RunStatement {
  return async (text, values) => {
    const { rows, rowCount } = await connection.query(text, values)
    return { rows, changed: rowCount }
  }
}
