import type { LockTableOptions } from '../sql'
import type { DataSourceLike } from './data-source-like'
import { createShedLockMigration, type MigrationQueryRunnerLike } from './shed-lock-migration'

/**
 * Makes the lock table unless it is there: what the migration does, for programs that have no migrations, or that run
 * theirs under a lock. However many processes call it at the same time, each succeeds.
 *
 * @throws LockError `INVALID_CONFIGURATION`; `INVALID_CLIENT`; `TABLE_MISMATCH` when another table has the name. An error
 *   of the database comes through as it is.
 */
export async function createShedLockTable(
  dataSource: DataSourceLike,
  options: LockTableOptions = {},
): Promise<void> {
  const migration = new (createShedLockMigration(options))()
  const queryRunner = dataSource.createQueryRunner('master')
  try {
    // TypeORM's own, as a migration gets it.
    await migration.up(queryRunner as unknown as MigrationQueryRunnerLike)
  } finally {
    await queryRunner.release()
  }
}
