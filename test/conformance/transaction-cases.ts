import assert from 'node:assert/strict'
import {
  expectFree,
  expectHeld,
  expectRefused,
  newConfiguration,
  until,
} from '../../src/testing/expectations'
import { fuzz } from '../../src/testing/race-cases'
import { acquireLock, expectRow } from './sql-expectations'
import type { CasesThatNeed, SqlCases } from './sql-environment'

/** How the caller's transaction may end. */
const ENDS = ['rollback', 'commit'] as const

/** Cases that hold both in a transaction that has only read and in one that has written. */
function casesIn(which: string, needs: 'beginTransaction' | 'beginWritingTransaction'): CasesThatNeed {
  const cases: SqlCases = {
    [`acquires, extends and releases locks inside ${which}, with lasting effect after its commit or rollback`]:
      async (environment) => {
        for (const end of ENDS) {
          const transaction = await environment[needs]()
          const kept = await acquireLock(transaction.provider, newConfiguration())
          await expectRefused(transaction.provider, { name: kept.name, lockAtMostFor: '5m' })
          const released = await acquireLock(transaction.provider, newConfiguration())
          await released.extend('1h')
          await released.unlock()
          assert.equal(await transaction.isVisible(), false, 'the lock committed what the caller wrote')
          await transaction[end]()
          const isWritten = needs === 'beginWritingTransaction' && end === 'commit'
          const isVisible = await transaction.isVisible()
          assert.equal(isVisible, isWritten, "the lock changed how the caller's transaction ended")
          await expectHeld(environment, kept.name)
          await expectFree(environment, released.name)
          await kept.unlock()
        }
      },
    [`counts a lease that begins inside ${which} from the acquisition, not from the transaction's start`]:
      async (environment) => {
        const transaction = await environment[needs]()
        try {
          const began = await environment.clock()
          await until(async () => (await environment.clock()) > began + 50, 'the clock moves on')
          const before = await environment.clock()
          const lock = await acquireLock(transaction.provider, newConfiguration({ lockAtMostFor: '1m' }))
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
      const held = await acquireLock(other, configuration)
      const transaction = await environment[needs]()
      try {
        await expectRefused(transaction.provider, configuration)
        await held.unlock()
        const lock = await acquireLock(transaction.provider, configuration)
        await expectRefused(other, configuration)
        await lock.unlock()
      } finally {
        await transaction.rollback()
      }
    },
  }
  return { needs, cases }
}

export const transactionCases: readonly CasesThatNeed[] = [
  casesIn("the caller's transaction", 'beginTransaction'),
  casesIn("the caller's transaction that has written", 'beginWritingTransaction'),
  {
    needs: 'beginTransaction',
    cases: {
      'never lets two of eight workers in open transactions run under one lock at the same time': (
        environment,
      ) =>
        fuzz(async (work) => {
          const transaction = await environment.beginTransaction()
          try {
            await work(transaction.provider)
          } finally {
            await transaction.rollback()
          }
        }),
    },
  },
]
