import assert from 'node:assert/strict'
import {
  acquire,
  expectFree,
  expectHeld,
  expectRefused,
  expectRow,
  newConfiguration,
  until,
} from './expectations'
import type { Cases, CasesThatNeed, SqlLockProviderEnvironment } from './lock-provider-environment'

/** How the caller's transaction may end. */
const ENDS = ['rollback', 'commit'] as const

/** Cases that hold both in a transaction that has only read and in one that has written. */
function casesIn(
  which: string,
  needs: 'beginTransaction' | 'beginWritingTransaction',
): CasesThatNeed<SqlLockProviderEnvironment> {
  const cases: Cases<SqlLockProviderEnvironment> = {
    [`keeps a lock that is acquired inside ${which}, after its commit or rollback`]: async (environment) => {
      for (const end of ENDS) {
        const transaction = await environment[needs]()
        const lock = await acquire(transaction.provider, newConfiguration())
        await expectHeld(environment, lock.name)
        await transaction[end]()
        await expectHeld(environment, lock.name)
        await lock.unlock()
        await expectFree(environment, lock.name)
      }
    },
    [`extends and releases a lock inside ${which}, with lasting effect after its commit or rollback`]: async (
      environment,
    ) => {
      for (const end of ENDS) {
        const transaction = await environment[needs]()
        const lock = await acquire(transaction.provider, newConfiguration())
        await lock.extend('1h')
        await lock.unlock()
        await expectFree(environment, lock.name)
        await transaction[end]()
        await expectFree(environment, lock.name)
      }
    },
    [`counts a lease that begins inside ${which} from the acquisition, not from the transaction's start`]:
      async (environment) => {
        const transaction = await environment[needs]()
        try {
          const began = await environment.clock()
          await until(async () => (await environment.clock()) > began + 50, 'the clock moves on')
          const before = await environment.clock()
          const lock = await acquire(transaction.provider, newConfiguration({ lockAtMostFor: '1m' }))
          const acquired = await expectRow(environment, lock.name)
          assert(acquired.lockedAt >= before && acquired.lockUntil >= before + 60_000)
          await lock.extend('1m')
          assert((await expectRow(environment, lock.name)).lockUntil >= before + 60_000)
        } finally {
          await transaction.rollback()
        }
      },
    [`sees inside ${which} what other sessions have done to the lock since its start`]: async (
      environment,
    ) => {
      const other = await environment.createProvider()
      const configuration = newConfiguration()
      const held = await acquire(other, configuration)
      const transaction = await environment[needs]()
      try {
        await expectRefused(transaction.provider, configuration)
        await held.unlock()
        const lock = await acquire(transaction.provider, configuration)
        await expectRefused(other, configuration)
        await lock.unlock()
      } finally {
        await transaction.rollback()
      }
    },
  }
  return { needs, cases }
}

export const transactionCases: readonly CasesThatNeed<SqlLockProviderEnvironment>[] = [
  casesIn("the caller's transaction", 'beginTransaction'),
  casesIn("the caller's transaction that has written", 'beginWritingTransaction'),
  {
    needs: 'beginWritingTransaction',
    cases: {
      "neither commits nor undoes what the caller's transaction wrote": async (environment) => {
        for (const end of ENDS) {
          const transaction = await environment.beginWritingTransaction()
          const configuration = newConfiguration()
          const lock = await acquire(transaction.provider, configuration)
          await expectRefused(transaction.provider, configuration)
          await lock.extend('10s')
          await lock.unlock()
          assert.equal(await transaction.isVisible(), false, 'the lock committed what the caller wrote')
          await transaction[end]()
          const isKept = await transaction.isVisible()
          assert.equal(isKept, end === 'commit', "the lock changed how the caller's transaction ended")
        }
      },
    },
  },
]
