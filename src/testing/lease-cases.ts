import assert from 'node:assert/strict'
import {
  NO_ROW,
  NOT_EXTENDED,
  expectHeld,
  expectRefused,
  newConfiguration,
  take,
  untilFree,
} from './expectations'
import type { LockProviderEnvironment, SqlLockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

export const leaseCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'frees a lock that nobody unlocked when its lease is over',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '2s' })
      const provider = await environment.createProvider()
      const dead = await take(provider, configuration)
      await untilFree(environment, configuration.name)
      assert.equal(dead.remaining(), 0, 'the holder trusts its lock longer than the storage')
      const lock = await take(provider, configuration)
      await lock.unlock()
    },
  },
  {
    title: 'keeps the lock for lockAtLeastFor, however short the task is',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '4s', lockAtLeastFor: '2s' })
      const provider = await environment.createProvider()
      const first = await take(provider, configuration)
      await first.unlock()
      await expectRefused(provider, configuration)
      await untilFree(environment, configuration.name)
      assert(first.remaining() <= 2_000, 'the lock was free before lockAtLeastFor was over')
      await take(provider, configuration)
    },
  },
  {
    title: 'takes one configuration object again and again, with a full lease each time',
    run: async (environment) => {
      const configuration = Object.freeze(newConfiguration({ lockAtMostFor: '2s' }))
      const provider = await environment.createProvider()
      await take(provider, configuration)
      await untilFree(environment, configuration.name)
      await take(provider, configuration)
      await expectHeld(environment, configuration.name)
    },
  },
  {
    title: 'holds a lease of 60 days, which a 32-bit number of milliseconds cannot hold',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '60d', lockAtLeastFor: '60d' })
      const provider = await environment.createProvider()
      const lock = await take(provider, configuration)
      await expectRefused(provider, configuration)
      const longer = await lock.extend('60d')
      assert(longer, NOT_EXTENDED)
      await longer.unlock()
      await expectHeld(environment, configuration.name)
      await expectRefused(provider, configuration)
    },
  },
]

const DAY = 86_400_000

export const sqlLeaseCases: readonly CaseDefinition<SqlLockProviderEnvironment>[] = [
  ...[10_000, 60_000, 60 * DAY, 36_500 * DAY].map(
    (lockAtMostFor): CaseDefinition<SqlLockProviderEnvironment> => ({
      title: `writes the times of a lease of ${lockAtMostFor} ms by the clock of the database, in UTC`,
      run: async (environment) => {
        const configuration = newConfiguration({ lockAtMostFor })
        const before = await environment.clock()
        const lock = await take(await environment.createProvider(), configuration)
        const after = await environment.clock()
        const taken = await environment.findRow(configuration.name)
        assert(taken, NO_ROW)
        assertBetween(taken.lockedAt, before, after, 'locked_at')
        assertBetween(taken.lockUntil, before + lockAtMostFor, after + lockAtMostFor, 'lock_until')

        const longer = await lock.extend(lockAtMostFor)
        assert(longer, NOT_EXTENDED)
        const extended = await environment.findRow(configuration.name)
        assert(extended, NO_ROW)
        assert.equal(extended.lockedAt, taken.lockedAt, 'an extension is not an acquisition')
        const extendedAt = await environment.clock()
        assertBetween(
          extended.lockUntil,
          after + lockAtMostFor,
          // An extension moves the row by a millisecond at least.
          extendedAt + lockAtMostFor + 1,
          'lock_until after extend',
        )

        await longer.unlock()
        const unlocked = await environment.findRow(configuration.name)
        assert(unlocked, NO_ROW)
        assertBetween(unlocked.lockUntil, extendedAt, await environment.clock(), 'lock_until after unlock')
        const readable = taken.lockedBy.replace(/\/[^/]*$/, '')
        assert(unlocked.lockedBy.startsWith(readable), `locked_by is '${unlocked.lockedBy}'`)
      },
    }),
  ),
  {
    title: 'leaves the lock taken until exactly lockAtLeastFor after it was taken',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtLeastFor: '2m' })
      const lock = await take(await environment.createProvider(), configuration)
      await lock.unlock()
      const row = await environment.findRow(configuration.name)
      assert(row, NO_ROW)
      assert.equal(row.lockUntil - row.lockedAt, 120_000, 'lock_until is not lockAtLeastFor after locked_at')
    },
  },
  {
    title: 'never lets the holder trust its lock longer than the database does',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      const row = await environment.findRow(configuration.name)
      assert(row, NO_ROW)
      const left = row.lockUntil - (await environment.clock())
      // The database's times are cut to milliseconds, each by less than one.
      assert(
        lock.remaining() <= left + 2,
        `the holder trusts ${lock.remaining()} ms, the database ${left} ms`,
      )
    },
  },
]

function assertBetween(value: number, from: number, to: number, what: string): void {
  assert(value >= from && value <= to, `${what} is ${value}, not between ${from} and ${to}`)
}
