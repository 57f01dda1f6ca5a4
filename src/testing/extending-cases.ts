import assert from 'node:assert/strict'
import { Lease } from '../core/internal'
import {
  acquire,
  acquireAndExtend,
  acquireWhenFree,
  expectFree,
  expectHeld,
  expectLost,
  expectOver,
  expectRefused,
  prepare,
  until,
  untilFree,
} from './expectations'
import type { Cases } from './lock-provider-environment'

const MINUTE = 60_000

export const extendingCases: Cases = {
  'extends a lock beyond its first lease, three times': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const { lock, extended, first } = await acquireAndExtend(provider, configuration, 30)
    const firstEnd = new Lease(first)
    assert(extended.remaining() > first, 'the holder has no longer lease')
    for (let time = 2; time <= 3; time++) {
      const longer = await lock.extend(time * 30 * first, undefined)
      assert(Number(longer?.remaining()) > first, 'the holder has no longer lease')
    }
    await until(() => firstEnd.remaining() === 0, 'the first lease is over')
    await expectRefused(other, configuration)
    await lock.unlock(undefined)
    await expectFree(environment, configuration.name)
  },
  'lets an extended lock expire, but not while its holder trusts it': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const { extended } = await acquireAndExtend(provider, configuration, 1.5)
    await acquireWhenFree(other, configuration)
    expectOver(extended)
  },
  'does not shorten a lease that is extended by less than what is left': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const { lock, extended } = await acquireAndExtend(provider, configuration, 0.05)
    await acquireWhenFree(other, configuration)
    expectOver(lock.lease)
    expectOver(extended)
  },
  'does not extend a lock whose lease is over, even if no other caller acquired it': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
    const lock = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await expectLost(lock.extend(5 * MINUTE, undefined))
    await expectFree(environment, configuration.name)
  },
  'honours the lockAtLeastFor of an extension': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    await lock.extend(10 * MINUTE, 9 * MINUTE)
    await lock.unlock(undefined)
    await expectHeld(environment, configuration.name)
  },
  'keeps the previous lockAtLeastFor when an extension omits it': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtLeastFor: '4m' })
    const lock = await acquire(provider, configuration)
    await lock.extend(10 * MINUTE, undefined)
    await lock.unlock(undefined)
    await expectHeld(environment, configuration.name)
  },
  'drops the previous lockAtLeastFor when an extension sets it to 0': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtLeastFor: '4m' })
    const lock = await acquire(provider, configuration)
    await lock.extend(10 * MINUTE, 0)
    await lock.unlock(undefined)
    await expectFree(environment, configuration.name)
  },
  'counts the lockAtLeastFor of an extension from the acquisition': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquire(provider, configuration)
    const acquired = lock.lease.remaining()
    await until(() => lock.lease.remaining() < acquired - 1_500, 'the lock is a second and a half old')
    await lock.extend(5 * MINUTE, 1_000)
    await lock.unlock(undefined)
    await expectFree(environment, configuration.name)
  },
}
