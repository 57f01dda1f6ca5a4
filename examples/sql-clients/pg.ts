import type { Pool, PoolClient } from 'pg'
import { drivers, sqlExecutor } from 'shedlock-orm/drivers'
import {
  dialects,
  guard,
  type SqlExecutor,
  SqlLockProvider,
  type SqlLockProviderOptions,
} from 'shedlock-orm/sql'

function on(client: Pool | PoolClient): SqlExecutor {
  return sqlExecutor(drivers.postgres, async (text, values) => {
    const { rows, rowCount } = await client.query(text, values)
    return { rows, changed: rowCount }
  })
}

export function pgLockProvider(pool: Pool, options?: SqlLockProviderOptions): SqlLockProvider {
  return new SqlLockProvider(on(pool), dialects.postgres, options)
}

/** The last call of a transaction: lets it commit only while the active lock is held. */
export function pgGuard(client: PoolClient): Promise<void> {
  return guard(on(client))
}
