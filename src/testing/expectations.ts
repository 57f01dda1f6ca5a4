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
  type Refusal,
} from '../core/internal'
import type {
  LockProviderEnvironment,
  LockRow,
  SqlLockProviderEnvironment,
} from './lock-provider-environment'

/** A configuration with a unique name, and a lease longer than any test. */
export function newConfiguration(rest: Partial<LockConfiguration> = {}): LockConfiguration {
  return { name: randomUUID(), lockAtMostFor: '5m', ...rest }
}

/** Creates a provider and a configuration with a unique name. */
export async function prepare(environment: LockProviderEnvironment, rest?: Partial<LockConfiguration>) {
  return { provider: await environment.createProvider(), configuration: newConfiguration(rest) }
}

export async function acquire(provider: LockProvider, configuration: LockConfiguration): Promise<Lock> {
  const lock = await provider.lock(configuration)
  assert(lock, `lock '${configuration.name}' should be free, but was refused`)
  return lock
}

export async function acquireAndRelease(
  provider: LockProvider,
  configuration: LockConfiguration,
): Promise<void> {
  await (await acquire(provider, configuration)).unlock()
}

/** Acquires a lock with a unique name. */
export async function acquireNew(
  environment: LockProviderEnvironment,
  rest?: Partial<LockConfiguration>,
): Promise<Lock> {
  return acquire(await environment.createProvider(), newConfiguration(rest))
}

export async function expectRefused(
  provider: LockProvider,
  configuration: LockConfiguration,
  expected: Refusal['reason'] = 'held',
): Promise<void> {
  const answer = await provider.acquire(checkLockConfiguration(configuration).configuration)
  assert(
    'reason' in answer,
    `lock '${configuration.name}' should be refused as ${expected}, but was acquired`,
  )
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

/** Waits until the lock is free, by the storage's own clock. */
export async function untilFree(environment: LockProviderEnvironment, name: string): Promise<void> {
  await until(async () => !(await environment.isHeld(name)), `lock '${name}' becomes free`)
}

export async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const deadline = performance.now() + 30_000
  // Many cases wait at the same time, some for seconds, so the interval grows: their polling must not overload the database.
  for (let interval = 5; !(await condition()); interval = Math.min(2 * interval, 100)) {
    assert(performance.now() < deadline, `waited 30 seconds in vain until ${what}`)
    await sleep(interval)
  }
}

export async function expectLockError(work: Promise<unknown>, code: LockErrorCode): Promise<void> {
  await assert.rejects(work, (error) => {
    assert(error instanceof LockError, `expected a LockError ${code}, not ${String(error)}`)
    assert.equal(error.code, code, error.message)
    return true
  })
}
