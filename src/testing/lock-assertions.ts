import assert from 'node:assert/strict'
import type { LockProvider } from '../core'

/**
 * Makes sure that somebody holds the lock, by asking for it.
 *
 * @throws AssertionError when nobody holds the lock
 */
export async function assertHeld(provider: LockProvider, name: string): Promise<void> {
  assert(await isHeld(provider, name), `Lock '${name}' is free, but should be held.`)
}

/**
 * Makes sure that nobody holds the lock, by taking it and giving it back at once.
 *
 * @throws AssertionError when somebody holds the lock
 */
export async function assertFree(provider: LockProvider, name: string): Promise<void> {
  assert(!(await isHeld(provider, name)), `Lock '${name}' is held, but should be free.`)
}

/** Asks for the lock as anybody would, so that it works with every provider, and gives it back at once. */
async function isHeld(provider: LockProvider, name: string): Promise<boolean> {
  const lock = await provider.lock({ name, lockAtMostFor: '1m' })
  await lock?.unlock()
  return lock === undefined
}
