import assert from 'node:assert/strict'
import {
  acquire,
  acquireWhenFree,
  expectFree,
  expectHeld,
  expectOver,
  expectRefused,
  prepare,
  until,
} from './expectations'
import type { Cases } from './lock-provider-environment'

/** Cases about how long a lock stays held. */
export const leaseCases: Cases = {
  'lets a lock expire that is never released, but not while its holder trusts it': async (environment) => {
    const { provider, other, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
    const dead = await acquire(provider, configuration)
    assert(dead.lease.remaining() > 0, 'the lease was over at once')
    const next = await acquireWhenFree(other, configuration)
    expectOver(dead.lease)
    assert(next.lease.remaining() > 0, 'the next lease was over at once')
    await expectHeld(environment, configuration.name)
  },
  'keeps the lock for lockAtLeastFor, even if the task ends sooner': async (environment) => {
    const { provider, other, configuration } = await prepare(environment, {
      lockAtMostFor: '4s',
      lockAtLeastFor: '2s',
    })
    const first = await acquire(provider, configuration)
    await first.unlock('failed')
    await acquireWhenFree(other, configuration)
    assert(first.lease.remaining() <= 2_000, 'the lock was free before lockAtLeastFor was over')
  },
  'counts lockAtLeastFor from the acquisition, not from the release': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtLeastFor: '1s' })
    const lock = await acquire(provider, configuration)
    // What is left when the acquisition resolves: the lease began some time before.
    const acquired = lock.lease.remaining()
    await until(() => lock.lease.remaining() < acquired - 1_500, 'the lock is a second and a half old')
    await lock.unlock('succeeded')
    await expectFree(environment, configuration.name)
  },
  'releases a lock under which nothing ran at once, whatever lockAtLeastFor says': async (environment) => {
    const { provider, other, configuration } = await prepare(environment, { lockAtLeastFor: '5m' })
    await (await acquire(provider, configuration)).unlock('unused')
    await expectFree(environment, configuration.name)
    const lock = await acquire(other, { ...configuration, lockAtLeastFor: 0 })
    await lock.extend(300_000, 300_000)
    await lock.unlock('unused')
    await expectFree(environment, configuration.name)
  },
  'holds a lease of 49.7 days, of which a 32-bit number of milliseconds keeps nothing': async (
    environment,
  ) => {
    const days = 2 ** 32
    const { provider, other, configuration } = await prepare(environment, {
      lockAtMostFor: days,
      lockAtLeastFor: days,
    })
    const lock = await acquire(provider, configuration)
    await expectRefused(other, configuration)
    await lock.extend(days, undefined)
    await lock.unlock('succeeded')
    await expectHeld(environment, configuration.name)
    await expectRefused(other, configuration)
  },
}
