import assert from 'node:assert/strict'
import { Lease } from '../core/internal'
import { acquireNew, expectFree, expectHeld, expectLockError, until, untilFree } from './expectations'
import type { Cases, LockProviderEnvironment } from './lock-provider-environment'

export const extendingCases: Cases<LockProviderEnvironment> = {
  'extends a lock beyond its first lease': async (environment) => {
    const lock = await acquireNew(environment, { lockAtMostFor: '2s' })
    const first = new Lease(2_000)
    assert.equal(await lock.extend('5m'), lock, 'extend() returned another lock')
    await until(() => first.remaining() === 0, 'the first lease is over')
    await expectHeld(environment, lock.name)
    assert(lock.remaining() > 0, 'an extended lock has no time left')
    await lock.unlock()
    await expectFree(environment, lock.name)
  },
  'extends a lock three times': async (environment) => {
    const lock = await acquireNew(environment, { lockAtMostFor: '2s' })
    const first = new Lease(2_000)
    for (let time = 0; time < 3; time++) await lock.extend('5m')
    await until(() => first.remaining() === 0, 'the first lease is over')
    await expectHeld(environment, lock.name)
    await lock.unlock()
    await expectFree(environment, lock.name)
  },
  'does not shorten a lease that is extended by less than what is left': async (environment) => {
    const lock = await acquireNew(environment)
    const requested = new Lease(100)
    const before = lock.remaining()
    await lock.extend('100ms')
    assert(lock.remaining() > 100 && lock.remaining() <= before + 100, 'the holder assumes a wrong lease')
    await until(() => requested.remaining() === 0, 'the requested time is over')
    await expectHeld(environment, lock.name)
    await lock.unlock()
    await expectFree(environment, lock.name)
  },
  'does not extend a lock that is released': async (environment) => {
    const lock = await acquireNew(environment)
    await lock.unlock()
    await expectLockError(lock.extend('10s'), 'NOT_LOCKED')
    await expectFree(environment, lock.name)
  },
  'does not extend a lock whose lease is over': async (environment) => {
    const lock = await acquireNew(environment, { lockAtMostFor: '2s' })
    await untilFree(environment, lock.name)
    await expectLockError(lock.extend('10s'), 'LOCK_LOST')
    await expectFree(environment, lock.name)
  },
  'honours the lockAtLeastFor of an extension': async (environment) => {
    const lock = await acquireNew(environment, { lockAtMostFor: '10m' })
    await lock.extend('10m', '9m')
    await lock.unlock()
    await expectHeld(environment, lock.name)
  },
  'keeps the previous lockAtLeastFor when an extension omits it': async (environment) => {
    const lock = await acquireNew(environment, { lockAtMostFor: '10m', lockAtLeastFor: '9m' })
    await lock.extend('10m')
    await lock.unlock()
    await expectHeld(environment, lock.name)
  },
  'drops the previous lockAtLeastFor when an extension sets it to 0': async (environment) => {
    const lock = await acquireNew(environment, { lockAtMostFor: '10m', lockAtLeastFor: '9m' })
    await lock.extend('10m', 0)
    await lock.unlock()
    await untilFree(environment, lock.name)
  },
  'counts the lockAtLeastFor of an extension from the acquisition': async (environment) => {
    const lock = await acquireNew(environment)
    // What is left when the acquisition resolves: the lease began some time before.
    const acquired = lock.remaining()
    await until(() => lock.remaining() < acquired - 1_500, 'the lock is a second and a half old')
    await lock.extend('5m', '1s')
    await lock.unlock()
    await expectFree(environment, lock.name)
  },
  'refuses an extension that can never work, and leaves the lock as it is': async (environment) => {
    const lock = await acquireNew(environment)
    for (const lockAtMostFor of [0, -1, NaN, Infinity, '10foo']) {
      await expectLockError(lock.extend(lockAtMostFor), 'INVALID_CONFIGURATION')
    }
    await expectLockError(lock.extend('1s', '2s'), 'INVALID_CONFIGURATION')
    await expectHeld(environment, lock.name)
    await lock.unlock()
  },
}
