import { DataSource } from 'typeorm'
import { onTestFinished } from 'vitest'
import type { LockProvider } from '../../src/core'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'

/** Locks in a database of the test's own, which this process alone needs to see. */
export async function lockProvider(): Promise<{ provider: LockProvider; dataSource: DataSource }> {
  const dataSource = await new DataSource({
    type: 'better-sqlite3',
    database: ':memory:',
    migrations: [createShedLockMigration()],
    migrationsRun: true,
  }).initialize()
  onTestFinished(() => dataSource.destroy())
  return { provider: typeOrmLockProvider(dataSource), dataSource }
}
