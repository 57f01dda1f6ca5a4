import type { LockProvider } from '../../src/core/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { migrated, openMemory } from '../backends/open-database'

/** Locks in a database of the test's own, which this process alone needs to see. */
export async function lockProvider(): Promise<LockProvider> {
  return typeOrmLockProvider(await openMemory(migrated()))
}
