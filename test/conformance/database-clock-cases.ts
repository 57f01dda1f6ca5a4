import assert from 'node:assert/strict'
import { newConfiguration } from '../../src/testing/expectations'
import { acquireLock, acquireNewLock, expectRow } from './sql-expectations'
import type { SqlCases, SqlLockProviderEnvironment } from './sql-environment'

const MINUTE = 60_000
const DAY = 86_400_000

/** Cases about the times in the row: they are those of the database's clock, in UTC. */
export const databaseClockCases: SqlCases = {
  ...Object.fromEntries(
    [10_000, 36_500 * DAY].map((lockAtMostFor) => [
      `writes the times of a lease of ${lockAtMostFor} ms by the clock of the database, in UTC`,
      async (environment: SqlLockProviderEnvironment) => {
        const before = await environment.clock()
        const lock = await acquireNewLock(environment, { lockAtMostFor })
        const after = await environment.clock()
        const acquired = await expectRow(environment, lock.name)
        assertBetween(acquired.lockedAt, before, after, 'locked_at')
        assertBetween(acquired.lockUntil, before + lockAtMostFor, after + lockAtMostFor, 'lock_until')

        await lock.extend(lockAtMostFor)
        const extended = await expectRow(environment, lock.name)
        assert.equal(extended.lockedAt, acquired.lockedAt, 'an extension is not an acquisition')
        const extendedAt = await environment.clock()
        assertBetween(
          extended.lockUntil,
          after + lockAtMostFor,
          // An extension moves lock_until by at least a millisecond.
          extendedAt + lockAtMostFor + 1,
          'lock_until after extend',
        )

        await lock.unlock()
        const unlocked = await expectRow(environment, lock.name)
        assertBetween(unlocked.lockUntil, extendedAt, await environment.clock(), 'lock_until after unlock')
        assert.match(acquired.lockedBy, /^.+\/[0-9a-f-]{36}$/)
        const readable = acquired.lockedBy.replace(/\/[^/]*$/, '')
        assert(unlocked.lockedBy.startsWith(readable), `locked_by is '${unlocked.lockedBy}'`)
      },
    ]),
  ),
  'never lets the holder consider its lock held for longer than the database does': async (environment) => {
    const lock = await acquireNewLock(environment)
    const row = await expectRow(environment, lock.name)
    const left = row.lockUntil - (await environment.clock())
    // Both of the database's times are truncated to milliseconds.
    assert(
      lock.remaining() <= left + 2,
      `the holder has ${lock.remaining()} ms left, but the database only ${left} ms`,
    )
  },
  'keeps the fencing token and the slot in locked_at': async (environment) => {
    const provider = await environment.createProvider()
    const { name, lockAtMostFor } = newConfiguration()
    // The last digits would show a rounding error of a millisecond.
    for (const slot of [1, 1_700_000_000_999, Date.now() - MINUTE]) {
      const lock = await acquireLock(provider, { name, lockAtMostFor, slot })
      assert.equal((await environment.findRow(name))?.lockedAt, slot)
      assert.equal(await lock.fencingToken(), slot)
      await lock.unlock()
    }
    const lock = await acquireLock(provider, { name, lockAtMostFor })
    assert.equal((await environment.findRow(name))?.lockedAt, await lock.fencingToken())
    await lock.unlock()
  },
}

function assertBetween(value: number, from: number, to: number, what: string): void {
  assert(value >= from && value <= to, `${what} is ${value}, not between ${from} and ${to}`)
}
