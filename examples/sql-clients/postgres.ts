import type { Sql } from 'postgres'
import { drivers, sqlClient } from 'shedlock-orm/drivers'
import { dialects, SqlLockProvider, type SqlLockProviderOptions } from 'shedlock-orm/sql'

/** Postgres.js. Its `unsafe` takes the text as it is, and binds the values. */
export function postgresLockProvider(sql: Sql, options?: SqlLockProviderOptions): SqlLockProvider {
  const client = sqlClient(drivers.postgres, async (text, values) => {
    const rows = await sql.unsafe(text, values)
    return { rows, changed: rows.count }
  })
  return new SqlLockProvider(client, dialects.postgres, options)
}
