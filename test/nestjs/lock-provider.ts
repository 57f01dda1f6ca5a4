import { DataSource } from 'typeorm'
import type { LockProvider } from '../../src/core'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'
import { afterTest } from '../after-test'

/** Locks in a database of the test's own, which this process alone needs to see. */
export async function lockProvider(): Promise<{ provider: LockProvider; dataSource: DataSource }> {
  const dataSource = await new DataSource({
    type: 'better-sqlite3',
    database: ':memory:',
    migrations: [createShedLockMigration()],
    migrationsRun: true,
  }).initialize()
  afterTest(() => dataSource.destroy())
  return { provider: typeOrmLockProvider(dataSource), dataSource }
}
