import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  LockError,
  type LockConfiguration,
  type LockErrorCode,
  type LockProvider,
  type SimpleLock,
} from '../core'
import type { LockProviderEnvironment } from './lock-provider-environment'

/** What a failure says, since test runners show little else of it. */
export const NOT_EXTENDED = 'the lock is held, but extend() gave no lock'
export const EXTENDED = 'the lock is over, but extend() gave one'
export const GIVEN_TWICE = 'the lock is held, but was given to another'
export const NO_ROW = 'the lock has no row in the table'

/** A configuration with a name of its own, and a lease that no test outlives. */
export function newConfiguration(rest: Partial<LockConfiguration> = {}): LockConfiguration {
  return { name: randomUUID(), lockAtMostFor: '5m', ...rest }
}

export async function take(provider: LockProvider, configuration: LockConfiguration): Promise<SimpleLock> {
  const lock = await provider.lock(configuration)
  assert(lock, `lock '${configuration.name}' is free, but was refused`)
  return lock
}

export async function expectRefused(provider: LockProvider, configuration: LockConfiguration): Promise<void> {
  const lock = await provider.lock(configuration)
  assert.equal(lock, undefined, `lock '${configuration.name}' is held, but was given to another`)
}

export async function expectHeld(environment: LockProviderEnvironment, name: string): Promise<void> {
  assert.equal(await environment.isHeld(name), true, `lock '${name}' should be held`)
}

export async function expectFree(environment: LockProviderEnvironment, name: string): Promise<void> {
  assert.equal(await environment.isHeld(name), false, `lock '${name}' should be free`)
}

/** Waits until the lease is over by the storage's clock. */
export async function untilFree(environment: LockProviderEnvironment, name: string): Promise<void> {
  await until(async () => !(await environment.isHeld(name)), `lock '${name}' becomes free`)
}

export async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await condition())) {
    assert(performance.now() < deadline, `waited 30 seconds until ${what}`)
    await sleep(5)
  }
}

export async function expectLockError(work: Promise<unknown>, code: LockErrorCode): Promise<void> {
  await assert.rejects(work, (error) => {
    assert(error instanceof LockError, `expected a LockError ${code}, not ${String(error)}`)
    assert.equal(error.code, code, error.message)
    return true
  })
}
