import assert from 'node:assert/strict'
import { Lease } from '../core/internal'
import {
  acquire,
  acquireAndRelease,
  acquireNew,
  expectHeld,
  expectRefused,
  expectRow,
  newConfiguration,
  prepare,
  untilFree,
} from './expectations'
import type { Cases, LockProviderEnvironment, SqlLockProviderEnvironment } from './lock-provider-environment'

export const leaseCases: Cases<LockProviderEnvironment> = {
  'lets a lock expire that is never released': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
    const dead = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    assert.equal(dead.remaining(), 0, 'the lock is free, but its holder still considers it held')
    await acquireAndRelease(provider, configuration)
  },
  'keeps the lock for lockAtLeastFor, even if the task ends sooner': async (environment) => {
    const { provider, configuration } = await prepare(environment, {
      lockAtMostFor: '4s',
      lockAtLeastFor: '2s',
    })
    const first = await acquire(provider, configuration)
    await first.unlock()
    await expectRefused(provider, configuration)
    await untilFree(environment, configuration.name)
    assert(first.remaining() <= 2_000, 'the lock was free before lockAtLeastFor was over')
    await acquire(provider, configuration)
  },
  'gives each acquisition a full lease, even with the same configuration object': async (environment) => {
    const configuration = Object.freeze(newConfiguration({ lockAtMostFor: '2s' }))
    const provider = await environment.createProvider()
    await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await acquire(provider, configuration)
    await expectHeld(environment, configuration.name)
  },
  'holds a lease of 60 days, which a 32-bit number of milliseconds cannot hold': async (environment) => {
    const { provider, configuration } = await prepare(environment, {
      lockAtMostFor: '60d',
      lockAtLeastFor: '60d',
    })
    const lock = await acquire(provider, configuration)
    await expectRefused(provider, configuration)
    await lock.extend('60d')
    await lock.unlock()
    await expectHeld(environment, configuration.name)
    await expectRefused(provider, configuration)
  },
}

const DAY = 86_400_000

export const sqlLeaseCases: Cases<SqlLockProviderEnvironment> = {
  ...Object.fromEntries(
    [10_000, 60_000, 60 * DAY, 36_500 * DAY].map((lockAtMostFor) => [
      `writes the times of a lease of ${lockAtMostFor} ms by the clock of the database, in UTC`,
      async (environment: SqlLockProviderEnvironment) => {
        const before = await environment.clock()
        const lock = await acquireNew(environment, { lockAtMostFor })
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
        const readable = acquired.lockedBy.replace(/\/[^/]*$/, '')
        assert(unlocked.lockedBy.startsWith(readable), `locked_by is '${unlocked.lockedBy}'`)
      },
    ]),
  ),
  'leaves the lock held until lockAtLeastFor after the acquisition, and not for much longer': async (
    environment,
  ) => {
    const { provider, configuration } = await prepare(environment, { lockAtLeastFor: '2m' })
    const began = new Lease(120_000)
    await acquireAndRelease(provider, configuration)
    const took = 120_000 - began.remaining()
    const row = await expectRow(environment, configuration.name)
    const kept = row.lockUntil - row.lockedAt
    assert(kept >= 120_000, `the lock is kept for ${kept} ms from the acquisition, which is too short`)
    assert(
      kept <= 120_000 + took + 2,
      `the lock is kept for ${kept} ms, although it was unlocked after ${took} ms`,
    )
  },
  'never lets the holder consider its lock held for longer than the database does': async (environment) => {
    const lock = await acquireNew(environment)
    const row = await expectRow(environment, lock.name)
    const left = row.lockUntil - (await environment.clock())
    // Both of the database's times are truncated to milliseconds.
    assert(
      lock.remaining() <= left + 2,
      `the holder has ${lock.remaining()} ms left, but the database only ${left} ms`,
    )
  },
}

function assertBetween(value: number, from: number, to: number, what: string): void {
  assert(value >= from && value <= to, `${what} is ${value}, not between ${from} and ${to}`)
}
