import assert from 'node:assert/strict'
import type { Acquisition } from '../core/internal'
import { acquire, acquireWhenFree, expectGrowing, expectLost, prepare, untilFree } from './expectations'
import type { Cases } from './lock-provider-environment'

const MINUTE = 60_000

async function tokenOf(lock: Acquisition): Promise<number> {
  const token = await lock.fencingToken?.()
  assert(token !== undefined, 'a lock that is held has no fencing token')
  return token
}

/** Cases about fencing tokens: each acquisition of a lock has a number greater than those of all earlier ones. */
export const fencingTokenCases: Cases = {
  'has a fencing token that grows with every acquisition': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const tokens: number[] = []
    for (let round = 0; round < 25; round++) {
      for (const instance of [provider, other]) {
        const lock = await acquire(instance, configuration)
        tokens.push(await tokenOf(lock))
        await lock.unlock(undefined)
      }
    }
    expectGrowing(tokens)
  },
  'has a greater fencing token after one that lies in the future': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const tokens: number[] = []
    const soon = Date.now() + MINUTE / 4
    for (const slot of [soon, undefined, undefined, soon + MINUTE / 4, undefined]) {
      const lock = await acquire(provider, { ...configuration, slot })
      tokens.push(await tokenOf(lock))
      if (slot !== undefined) assert.equal(tokens.at(-1), slot)
      await lock.unlock(undefined)
    }
    expectGrowing(tokens)
  },
  'has the same fencing token after an extension': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    const token = await tokenOf(lock)
    assert.equal(await tokenOf(lock), token)
    await lock.extend(10 * MINUTE, undefined)
    assert.equal(await tokenOf(lock), token)
  },
  'has no fencing token for a holder that lost the lock, and a greater one for the next holder': async (
    environment,
  ) => {
    const { provider, other, configuration } = await prepare(environment)
    const late = await acquire(provider, { ...configuration, lockAtMostFor: '2s' })
    const first = await tokenOf(late)
    await untilFree(environment, configuration.name)
    await expectLost(Promise.resolve(late.fencingToken?.()))
    const successor = await acquireWhenFree(other, configuration)
    await expectLost(Promise.resolve(late.fencingToken?.()))
    expectGrowing([first, await tokenOf(successor)])
  },
  'has no fencing token after the release, even while lockAtLeastFor keeps the lock held': async (
    environment,
  ) => {
    for (const lockAtLeastFor of [0, '4m']) {
      const { provider, configuration } = await prepare(environment, { lockAtLeastFor })
      const lock = await acquire(provider, configuration)
      await lock.unlock('succeeded')
      await expectLost(Promise.resolve(lock.fencingToken?.()))
    }
  },
}
