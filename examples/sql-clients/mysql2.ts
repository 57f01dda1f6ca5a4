import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import { drivers, sqlClient } from 'shedlock-orm/drivers'
import { dialects, SqlLockProvider, type SqlLockProviderOptions } from 'shedlock-orm/sql'

/** For MySQL and MariaDB. `execute` has the server bind the values; `query` would write them into the text. */
export function mysql2LockProvider(pool: Pool, options?: SqlLockProviderOptions): SqlLockProvider {
  const client = sqlClient(drivers.mysql, async (text, values) => {
    const [result] = await pool.execute<RowDataPacket[] | ResultSetHeader>(text, values)
    return Array.isArray(result) ? { rows: result, changed: 0 } : { rows: [], changed: result.affectedRows }
  })
  return new SqlLockProvider(client, dialects.mysql, options)
}
