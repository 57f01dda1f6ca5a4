import {
  acquire,
  acquireWhenFree,
  expectFree,
  expectHeld,
  expectLost,
  expectOver,
  expectRefused,
  prepare,
  untilFree,
} from './expectations'
import type { Cases } from './lock-provider-environment'

const OUTCOMES = [undefined, 'succeeded', 'failed', 'unused'] as const

/** Cases about requests that arrive late: a holder changes a lock only while it is its own. */
export const ownershipCases: Cases = {
  'does not let a late holder release the lock of its successor': async (environment) => {
    await Promise.all(
      OUTCOMES.map(async (outcome) => {
        const { provider, other, configuration } = await prepare(environment)
        const late = await acquire(provider, { ...configuration, lockAtMostFor: '2s', lockAtLeastFor: '2s' })
        await acquireWhenFree(other, configuration)
        await late.unlock(outcome)
        await expectHeld(environment, configuration.name)
        for (const instance of [provider, other]) await expectRefused(instance, configuration)
      }),
    )
  },
  'does not let a late holder change the lease of its successor': async (environment) => {
    const { provider, other, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
    const late = await acquire(provider, { ...configuration, lockAtLeastFor: '2s' })
    const successor = await acquireWhenFree(other, configuration)
    await expectLost(late.extend(300_000, 300_000))
    await late.unlock('succeeded')
    await acquireWhenFree(provider, configuration)
    expectOver(successor.lease)
  },
  'does nothing when a lock is released twice': async (environment) => {
    for (const outcome of OUTCOMES) {
      const { provider, other, configuration } = await prepare(environment)
      const lock = await acquire(provider, configuration)
      await lock.unlock('succeeded')
      await lock.unlock(outcome)
      await acquire(other, configuration)
      await lock.unlock(outcome)
      await expectHeld(environment, configuration.name)
    }
  },
  'grants its holder nothing after the release, even while lockAtLeastFor keeps the lock held': async (
    environment,
  ) => {
    for (const lockAtLeastFor of ['0ms', '2s']) {
      const { provider, configuration } = await prepare(environment, { lockAtLeastFor })
      const lock = await acquire(provider, configuration)
      await lock.unlock('failed')
      await expectLost(lock.extend(300_000, 300_000))
      await untilFree(environment, configuration.name)
    }
  },
  'does not bring a lock back that is released after its lease': async (environment) => {
    await Promise.all(
      OUTCOMES.map(async (outcome) => {
        const { provider, configuration } = await prepare(environment, {
          lockAtMostFor: '2s',
          lockAtLeastFor: '2s',
        })
        const late = await acquire(provider, configuration)
        await untilFree(environment, configuration.name)
        await late.unlock(outcome)
        await expectFree(environment, configuration.name)
        await acquire(provider, configuration)
      }),
    )
  },
}
