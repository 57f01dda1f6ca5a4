import { DataSource } from 'typeorm'
import { createShedLockMigration } from '../../../src/typeorm/internal'
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
