import { CompiledQuery, type Kysely } from 'kysely'
import { drivers, sqlClient } from 'shedlock-orm/drivers'
import { dialects, SqlLockProvider, type SqlLockProviderOptions } from 'shedlock-orm/sql'

/** On PostgreSQL. On MySQL Kysely writes values into the text: give the pool that you gave it to `mysql2LockProvider`. */
export function kyselyLockProvider<Database>(
  db: Kysely<Database>,
  options?: SqlLockProviderOptions,
): SqlLockProvider {
  const client = sqlClient(drivers.postgres, async (text, values) => {
    const { rows, numAffectedRows } = await db.executeQuery<Record<string, unknown>>(
      CompiledQuery.raw(text, values),
    )
    return { rows, changed: numAffectedRows }
  })
  return new SqlLockProvider(client, dialects.postgres, options)
}
