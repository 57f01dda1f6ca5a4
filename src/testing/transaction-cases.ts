import assert from 'node:assert/strict'
import {
  GIVEN_TWICE,
  NOT_EXTENDED,
  expectFree,
  expectHeld,
  newConfiguration,
  take,
  until,
} from './expectations'
import type { CallerTransaction, SqlLockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

type Begin = (environment: Required<SqlLockProviderEnvironment>) => Promise<CallerTransaction>

/** The same promises hold in a transaction that has only read, and in one that has written. */
function casesIn(
  which: string,
  ability: 'beginTransaction' | 'beginWritingTransaction',
  begin: Begin,
): CaseDefinition<SqlLockProviderEnvironment>[] {
  return [
    {
      title: `keeps a lock that is taken inside ${which}, whatever becomes of it`,
      needs: [ability],
      run: async (environment) => {
        for (const end of ['rollback', 'commit'] as const) {
          const transaction = await begin(environment)
          const configuration = newConfiguration()
          const lock = await take(transaction.provider, configuration)
          await expectHeld(environment, configuration.name)
          await transaction[end]()
          await expectHeld(environment, configuration.name)
          await lock.unlock()
          await expectFree(environment, configuration.name)
        }
      },
    },
    {
      title: `extends and frees a lock inside ${which}, whatever becomes of it`,
      needs: [ability],
      run: async (environment) => {
        for (const end of ['rollback', 'commit'] as const) {
          const transaction = await begin(environment)
          const configuration = newConfiguration()
          const lock = await take(transaction.provider, configuration)
          const longer = await lock.extend('1h')
          assert(longer, NOT_EXTENDED)
          await longer.unlock()
          await expectFree(environment, configuration.name)
          await transaction[end]()
          await expectFree(environment, configuration.name)
        }
      },
    },
    {
      title: `counts a lease that begins inside ${which} from now, not from when that began`,
      needs: [ability],
      run: async (environment) => {
        const transaction = await begin(environment)
        try {
          const began = await environment.clock()
          await until(async () => (await environment.clock()) > began + 50, 'the clock moves on')
          const before = await environment.clock()
          const configuration = newConfiguration({ lockAtMostFor: '1m' })
          const lock = await take(transaction.provider, configuration)
          const taken = await environment.findRow(configuration.name)
          assert(taken && taken.lockedAt >= before && taken.lockUntil >= before + 60_000)
          assert(await lock.extend('1m'))
          const extended = await environment.findRow(configuration.name)
          assert(extended && extended.lockUntil >= before + 60_000)
        } finally {
          await transaction.rollback()
        }
      },
    },
    {
      title: `sees from inside ${which} what others did to the lock since that began`,
      needs: [ability],
      run: async (environment) => {
        const other = await environment.createProvider()
        const configuration = newConfiguration()
        const held = await take(other, configuration)
        const transaction = await begin(environment)
        try {
          assert.equal(await transaction.provider.lock(configuration), undefined, GIVEN_TWICE)
          await held.unlock()
          const lock = await take(transaction.provider, configuration)
          assert.equal(await other.lock(configuration), undefined, GIVEN_TWICE)
          await lock.unlock()
        } finally {
          await transaction.rollback()
        }
      },
    },
  ]
}

export const transactionCases: readonly CaseDefinition<SqlLockProviderEnvironment>[] = [
  ...casesIn("the caller's transaction", 'beginTransaction', (environment) => environment.beginTransaction()),
  ...casesIn("the caller's transaction that has written", 'beginWritingTransaction', (environment) =>
    environment.beginWritingTransaction(),
  ),
  {
    title: "neither commits nor undoes what the caller's transaction wrote",
    needs: ['beginWritingTransaction'],
    run: async (environment) => {
      for (const end of ['rollback', 'commit'] as const) {
        const transaction = await environment.beginWritingTransaction()
        const configuration = newConfiguration()
        const lock = await take(transaction.provider, configuration)
        assert.equal(await transaction.provider.lock(configuration), undefined, GIVEN_TWICE)
        const longer = await lock.extend('10s')
        await longer?.unlock()
        assert.equal(await transaction.isVisible(), false, 'the lock committed what the caller wrote')
        await transaction[end]()
        assert.equal(await transaction.isVisible(), end === 'commit', 'the lock changed how the caller ended')
      }
    },
  },
]
