import assert from 'node:assert/strict'
import { LockError, type LockErrorCode } from '../../src/core/errors'
import type { Lock, LockConfiguration } from '../../src/core/lock'
import type { LockProvider } from '../../src/core/lock-provider'
import { type LockProviderEnvironment, newConfiguration } from '../../src/testing/expectations'
import type { LockRow } from './lock-table-observer'
import type { SqlLockProviderEnvironment } from './sql-environment'

/** Acquires a lock as an app does by hand. */
export async function acquireLock(provider: LockProvider, configuration: LockConfiguration): Promise<Lock> {
  const lock = await provider.lock(configuration)
  assert(lock, `lock '${configuration.name}' should be free, but was refused`)
  return lock
}

/** Acquires a lock with a unique name. */
export async function acquireNewLock(
  environment: LockProviderEnvironment,
  rest?: Partial<LockConfiguration>,
): Promise<Lock> {
  return acquireLock(await environment.createProvider(), newConfiguration(rest))
}

export async function expectRow(environment: SqlLockProviderEnvironment, name: string): Promise<LockRow> {
  const row = await environment.findRow(name)
  assert(row, `lock '${name}' has no row in the table`)
  return row
}

export async function expectLockError(work: Promise<unknown>, code: LockErrorCode): Promise<void> {
  await assert.rejects(work, (error) => {
    assert(error instanceof LockError, `expected a LockError ${code}, not ${String(error)}`)
    assert.equal(error.code, code, error.message)
    return true
  })
}
