import type { afterTest } from '../../after-test'
import { availableBackends } from '../../backends'
import { migrated, openDatabase } from '../../backends/open-database'

/** A database of PostgreSQL with the lock table: the environment of an app that has it, and a client that observes. */
export async function migratedDatabase(after: typeof afterTest) {
  const postgres = availableBackends().find((backend) => backend.name === 'postgres')
  if (!postgres) throw new Error('The examples run on PostgreSQL, which was not found')
  const { database, dataSource } = await openDatabase(postgres, migrated(), after)
  return { environment: { DATABASE_URL: database.url }, observer: dataSource }
}
