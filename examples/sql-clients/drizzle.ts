import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Pool } from 'pg'
import type { SqlLockProvider, SqlLockProviderOptions } from 'shedlock-orm/sql'
import { pgLockProvider } from './pg'

/** Drizzle shows what it runs on: a pool of pg, Postgres.js's `sql`, or a pool of mysql2. Locks need no more. */
export function drizzleLockProvider(
  db: NodePgDatabase & { $client: Pool },
  options?: SqlLockProviderOptions,
): SqlLockProvider {
  return pgLockProvider(db.$client, options)
}
