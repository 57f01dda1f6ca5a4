import assert from 'node:assert/strict'
import { acquire, acquireNew, expectLockError, newConfiguration, prepare, untilFree } from './expectations'
import type { Cases, LockProviderEnvironment, SqlLockProviderEnvironment } from './lock-provider-environment'

const MINUTE = 60_000

function assertGrowing(tokens: readonly number[]): void {
  assert(
    tokens.every((token) => Number.isSafeInteger(token) && token > 0),
    `not all tokens are positive safe integers: ${tokens.join(', ')}`,
  )
  const sorted = [...new Set(tokens)].sort((one, other) => one - other)
  assert.deepEqual(tokens, sorted, 'the tokens do not grow with every acquisition')
}

/** Cases about fencing tokens: each acquisition of a lock has a number greater than those of all earlier ones. */
export const fencingTokenCases: Cases<LockProviderEnvironment> = {
  'has a fencing token that grows with every acquisition': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const tokens: number[] = []
    for (let time = 0; time < 50; time++) {
      const lock = await acquire(provider, configuration)
      tokens.push(await lock.fencingToken())
      await lock.unlock()
    }
    assertGrowing(tokens)
  },
  'has a greater fencing token after one that lies in the future': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const tokens: number[] = []
    const soon = Date.now() + MINUTE / 4
    for (const slot of [soon, undefined, undefined, soon + MINUTE / 4, undefined]) {
      const lock = await acquire(provider, { ...configuration, slot })
      tokens.push(await lock.fencingToken())
      if (slot !== undefined) assert.equal(tokens.at(-1), slot)
      await lock.unlock()
    }
    assertGrowing(tokens)
  },
  'has the same fencing token after an extension': async (environment) => {
    const lock = await acquireNew(environment)
    const token = await lock.fencingToken()
    assert.equal(await lock.fencingToken(), token)
    await lock.extend('10m')
    assert.equal(await lock.fencingToken(), token)
    await lock.unlock()
  },
  'has no fencing token for a holder that lost the lock, and a greater one for the next holder': async (
    environment,
  ) => {
    const { provider, configuration } = await prepare(environment)
    const late = await acquire(provider, { ...configuration, lockAtMostFor: '2s' })
    const first = await late.fencingToken()
    await untilFree(environment, configuration.name)
    const successor = await acquire(provider, configuration)
    await expectLockError(late.fencingToken(), 'LOCK_LOST')
    assertGrowing([first, await successor.fencingToken()])
    await successor.unlock()
    await expectLockError(successor.fencingToken(), 'NOT_LOCKED')
  },
}

export const sqlFencingTokenCases: Cases<SqlLockProviderEnvironment> = {
  'has no fencing token once the row is gone, and aborts the signal of its holder': async (environment) => {
    const lock = await acquireNew(environment)
    await environment.deleteRow(lock.name)
    await expectLockError(lock.fencingToken(), 'LOCK_LOST')
    assert(lock.signal.aborted)
    assert.equal(lock.remaining(), 0)
  },
  'keeps the fencing token and the slot in locked_at': async (environment) => {
    const provider = await environment.createProvider()
    const { name, lockAtMostFor } = newConfiguration()
    // The last digits would show a rounding error of a millisecond.
    for (const slot of [1, 1_700_000_000_999, Date.now() - MINUTE]) {
      const lock = await acquire(provider, { name, lockAtMostFor, slot })
      assert.equal((await environment.findRow(name))?.lockedAt, slot)
      assert.equal(await lock.fencingToken(), slot)
      await lock.unlock()
    }
    const lock = await acquire(provider, { name, lockAtMostFor })
    assert.equal((await environment.findRow(name))?.lockedAt, await lock.fencingToken())
    await lock.unlock()
  },
}
