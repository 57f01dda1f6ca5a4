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
import type {
  CallerTransaction,
  Cases,
  CasesThatNeed,
  SqlLockProviderEnvironment,
} from './lock-provider-environment'

type Begin = (environment: Required<SqlLockProviderEnvironment>) => Promise<CallerTransaction>

/** The same promises hold in a transaction that has only read, and in one that has written. */
function casesIn(
  which: string,
  ability: 'beginTransaction' | 'beginWritingTransaction',
  begin: Begin,
): CasesThatNeed<SqlLockProviderEnvironment> {
  const cases: Cases<SqlLockProviderEnvironment> = {
    [`keeps a lock that is acquired inside ${which}, whatever becomes of it`]: async (environment) => {
      for (const end of ['rollback', 'commit'] as const) {
        const transaction = await begin(environment)
        const configuration = newConfiguration()
        const lock = await acquire(transaction.provider, configuration)
        await expectHeld(environment, configuration.name)
        await transaction[end]()
        await expectHeld(environment, configuration.name)
        await lock.unlock()
        await expectFree(environment, configuration.name)
      }
    },
    [`extends and releases a lock inside ${which}, whatever becomes of it`]: async (environment) => {
      for (const end of ['rollback', 'commit'] as const) {
        const transaction = await begin(environment)
        const configuration = newConfiguration()
        const lock = await acquire(transaction.provider, configuration)
        await lock.extend('1h')
        await lock.unlock()
        await expectFree(environment, configuration.name)
        await transaction[end]()
        await expectFree(environment, configuration.name)
      }
    },
    [`counts a lease that begins inside ${which} from now, not from when that began`]: async (
      environment,
    ) => {
      const transaction = await begin(environment)
      try {
        const began = await environment.clock()
        await until(async () => (await environment.clock()) > began + 50, 'the clock moves on')
        const before = await environment.clock()
        const configuration = newConfiguration({ lockAtMostFor: '1m' })
        const lock = await acquire(transaction.provider, configuration)
        const acquired = await expectRow(environment, lock.name)
        assert(acquired.lockedAt >= before && acquired.lockUntil >= before + 60_000)
        await lock.extend('1m')
        assert((await expectRow(environment, lock.name)).lockUntil >= before + 60_000)
      } finally {
        await transaction.rollback()
      }
    },
    [`sees from inside ${which} what others did to the lock since that began`]: async (environment) => {
      const other = await environment.createProvider()
      const configuration = newConfiguration()
      const held = await acquire(other, configuration)
      const transaction = await begin(environment)
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
  return { needs: ability, cases }
}

export const transactionCases: readonly CasesThatNeed<SqlLockProviderEnvironment>[] = [
  casesIn("the caller's transaction", 'beginTransaction', (environment) => environment.beginTransaction()),
  casesIn("the caller's transaction that has written", 'beginWritingTransaction', (environment) =>
    environment.beginWritingTransaction(),
  ),
  {
    needs: 'beginWritingTransaction',
    cases: {
      "neither commits nor undoes what the caller's transaction wrote": async (environment) => {
        for (const end of ['rollback', 'commit'] as const) {
          const transaction = await environment.beginWritingTransaction()
          const configuration = newConfiguration()
          const lock = await acquire(transaction.provider, configuration)
          await expectRefused(transaction.provider, configuration)
          await lock.extend('10s')
          await lock.unlock()
          assert.equal(await transaction.isVisible(), false, 'the lock committed what the caller wrote')
          await transaction[end]()
          assert.equal(
            await transaction.isVisible(),
            end === 'commit',
            'the lock changed how the caller ended',
          )
        }
      },
    },
  },
]
