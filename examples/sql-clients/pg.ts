import type { Pool } from 'pg'
import { drivers, sqlExecutor } from 'shedlock-orm/drivers'
import { dialects, SqlLockProvider, type SqlLockProviderOptions } from 'shedlock-orm/sql'

export function pgLockProvider(pool: Pool, options?: SqlLockProviderOptions): SqlLockProvider {
  const executor = sqlExecutor(drivers.postgres, async (text, values) => {
    const { rows, rowCount } = await pool.query(text, values)
    return { rows, changed: rowCount }
  })
  return new SqlLockProvider(executor, dialects.postgres, options)
}
