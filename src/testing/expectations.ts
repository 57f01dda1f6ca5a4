import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  checkLockConfiguration,
  LockError,
  type Lock,
  type LockConfiguration,
  type LockErrorCode,
  type LockProvider,
  type RefusalReason,
} from '../core/internal'
import type {
  LockProviderEnvironment,
  LockRow,
  SqlLockProviderEnvironment,
} from './lock-provider-environment'

/** A configuration with a name of its own, and a lease that no test outlives. */
export function newConfiguration(rest: Partial<LockConfiguration> = {}): LockConfiguration {
  return { name: randomUUID(), lockAtMostFor: '5m', ...rest }
}

/** A provider, and a configuration for it. */
export async function prepare(environment: LockProviderEnvironment, rest?: Partial<LockConfiguration>) {
  return { provider: await environment.createProvider(), configuration: newConfiguration(rest) }
}

export async function acquire(provider: LockProvider, configuration: LockConfiguration): Promise<Lock> {
  const lock = await provider.lock(configuration)
  assert(lock, `lock '${configuration.name}' is free, but was refused`)
  return lock
}

export async function acquireAndRelease(
  provider: LockProvider,
  configuration: LockConfiguration,
): Promise<void> {
  await (await acquire(provider, configuration)).unlock()
}

/** Acquires a lock of a name of its own. */
export async function acquireNew(
  environment: LockProviderEnvironment,
  rest?: Partial<LockConfiguration>,
): Promise<Lock> {
  return acquire(await environment.createProvider(), newConfiguration(rest))
}

export async function expectRefused(
  provider: LockProvider,
  configuration: LockConfiguration,
  expected: RefusalReason = 'held',
): Promise<void> {
  const answer = await provider.acquire(checkLockConfiguration(configuration).configuration)
  assert('reason' in answer, `lock '${configuration.name}' is ${expected}, but was acquired by another`)
  assert.equal(answer.reason, expected)
}

export async function expectHeld(environment: LockProviderEnvironment, name: string): Promise<void> {
  assert.equal(await environment.isHeld(name), true, `lock '${name}' should be held`)
}

export async function expectFree(environment: LockProviderEnvironment, name: string): Promise<void> {
  assert.equal(await environment.isHeld(name), false, `lock '${name}' should be free`)
}

export async function expectRow(environment: SqlLockProviderEnvironment, name: string): Promise<LockRow> {
  const row = await environment.findRow(name)
  assert(row, `lock '${name}' has no row in the table`)
  return row
}

/** Waits until the lease is over by the storage's clock. */
export async function untilFree(environment: LockProviderEnvironment, name: string): Promise<void> {
  await until(async () => !(await environment.isHeld(name)), `lock '${name}' becomes free`)
}

export async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const deadline = performance.now() + 30_000
  // Many cases wait beside each other for seconds: their looks must not keep the database from its work.
  for (let pause = 5; !(await condition()); pause = Math.min(2 * pause, 100)) {
    assert(performance.now() < deadline, `waited 30 seconds until ${what}`)
    await sleep(pause)
  }
}

export async function expectLockError(work: Promise<unknown>, code: LockErrorCode): Promise<void> {
  await assert.rejects(work, (error) => {
    assert(error instanceof LockError, `expected a LockError ${code}, not ${String(error)}`)
    assert.equal(error.code, code, error.message)
    return true
  })
}
