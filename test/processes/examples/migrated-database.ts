import { DataSource } from 'typeorm'
import { createShedLockMigration } from '../../../src/typeorm/internal'
import type { afterTest } from '../../after-test'
import { availableBackends, type TestDatabase } from '../../backends'

/** A database of PostgreSQL with the lock table. */
export async function migratedDatabase(): Promise<TestDatabase> {
  const postgres = availableBackends().find((backend) => backend.name === 'postgres')
  if (!postgres) throw new Error('The examples run on PostgreSQL, which was not found')
  const database = await postgres.create()
  const migrations = [createShedLockMigration()]
  const dataSource = await new DataSource({ ...database.typeOrm, migrations }).initialize()
  await dataSource.runMigrations()
  await dataSource.destroy()
  return database
}

/** The environment of an app that has such a database, until the test or the file is over. */
export async function migratedEnvironment(after: typeof afterTest): Promise<{ DATABASE_URL: string }> {
  const database = await migratedDatabase()
  after(() => database.drop())
  return { DATABASE_URL: database.url }
}
