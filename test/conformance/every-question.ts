import { expect } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import type { observeLockTable } from './lock-table-observer'

/** Runs every operation on one lock, first without a slot and then with one. */
export async function everyQuestion(
  provider: SqlLockProvider,
  table: ReturnType<typeof observeLockTable>,
  name = 'job',
): Promise<void> {
  for (const withSlot of [false, true]) {
    const before = await table.findRow(name)
    const slot = withSlot && before ? before.lockedAt + 1 : undefined
    const job = { name, lockAtMostFor: '10m', slot }
    const lock = await provider.lock(job)
    expect(lock).toBeDefined()
    expect(await table.isHeld(name)).toBe(true)
    expect(await provider.lock(job)).toBeUndefined()
    await lock?.extend('20m')
    expect(await lock?.fencingToken()).toBe((await table.findRow(name))?.lockedAt)
    await lock?.unlock()
    expect(await table.isHeld(name)).toBe(false)
  }
}
