import assert from 'node:assert/strict'
import { expectLockError, newConfiguration, take, untilFree } from './expectations'
import type { LockProviderEnvironment, SqlLockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

const MINUTE = 60_000

function assertGrowing(tokens: readonly number[]): void {
  assert(
    tokens.every((token) => Number.isSafeInteger(token) && token > 0),
    `not all tokens are positive safe integers: ${tokens.join(', ')}`,
  )
  const sorted = [...new Set(tokens)].sort((one, other) => one - other)
  assert.deepEqual(tokens, sorted, 'the tokens do not grow with every acquisition')
}

/** A number for each acquisition of a name, greater than all before. */
export const fencingTokenCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'gives a fencing token that grows with every acquisition',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const tokens: number[] = []
      for (let time = 0; time < 50; time++) {
        const lock = await take(provider, configuration)
        tokens.push(await lock.fencingToken())
        await lock.unlock()
      }
      assertGrowing(tokens)
    },
  },
  {
    title: 'gives a greater fencing token after one that is not past',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const tokens: number[] = []
      for (const slot of [
        Date.now() + 10 * MINUTE,
        undefined,
        undefined,
        Date.now() + 20 * MINUTE,
        undefined,
      ]) {
        const lock = await take(provider, { ...configuration, slot })
        tokens.push(await lock.fencingToken())
        if (slot !== undefined) assert.equal(tokens.at(-1), slot)
        await lock.unlock()
      }
      assertGrowing(tokens)
    },
  },
  {
    title: 'gives the same fencing token after an extension',
    run: async (environment) => {
      const lock = await take(await environment.createProvider(), newConfiguration())
      const token = await lock.fencingToken()
      assert.equal(await lock.fencingToken(), token)
      const longer = await lock.extend('10m')
      assert.equal(await longer?.fencingToken(), token)
      await longer?.unlock()
    },
  },
  {
    title: 'gives no fencing token to who does not hold the lock any more, and a greater one to the next',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const late = await take(provider, { ...configuration, lockAtMostFor: '2s' })
      const first = await late.fencingToken()
      await untilFree(environment, configuration.name)
      const successor = await take(provider, configuration)
      await expectLockError(late.fencingToken(), 'LOCK_LOST')
      assertGrowing([first, await successor.fencingToken()])
      await successor.unlock()
      await expectLockError(successor.fencingToken(), 'LOCK_SPENT')
    },
  },
]

export const sqlFencingTokenCases: readonly CaseDefinition<SqlLockProviderEnvironment>[] = [
  {
    title: 'gives no fencing token for a row that is gone, and tells its holder',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      await environment.deleteRow(configuration.name)
      await expectLockError(lock.fencingToken(), 'LOCK_LOST')
      assert(lock.signal.aborted)
      assert.equal(lock.remaining(), 0)
    },
  },
  {
    title: 'keeps the fencing token and the slot in locked_at',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const { name, lockAtMostFor } = newConfiguration()
      // Milliseconds that a rounding error would change.
      for (const slot of [1, 1_700_000_000_999, Date.now() - MINUTE]) {
        const lock = await take(provider, { name, lockAtMostFor, slot })
        assert.equal((await environment.findRow(name))?.lockedAt, slot)
        assert.equal(await lock.fencingToken(), slot)
        await lock.unlock()
      }
      const lock = await take(provider, { name, lockAtMostFor })
      assert.equal((await environment.findRow(name))?.lockedAt, await lock.fencingToken())
      await lock.unlock()
    },
  },
]
