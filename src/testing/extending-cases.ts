import assert from 'node:assert/strict'
import { Lease } from '../core'
import {
  EXTENDED,
  NOT_EXTENDED,
  expectFree,
  expectHeld,
  expectLockError,
  newConfiguration,
  take,
  until,
  untilFree,
} from './expectations'
import type { LockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

export const extendingCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'extends a lock beyond its first lease',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '2s' })
      const lock = await take(await environment.createProvider(), configuration)
      const first = new Lease(2_000)
      const longer = await lock.extend('5m')
      assert(longer, NOT_EXTENDED)
      await until(() => first.remaining() === 0, 'the first lease is over')
      await expectHeld(environment, configuration.name)
      assert(longer.remaining() > 0, 'an extended lock has no time left')
      await longer.unlock()
      await expectFree(environment, configuration.name)
    },
  },
  {
    title: 'extends a lock three times',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '2s' })
      let lock = await take(await environment.createProvider(), configuration)
      const first = new Lease(2_000)
      for (let time = 0; time < 3; time++) {
        const longer = await lock.extend('5m')
        assert(longer, NOT_EXTENDED)
        lock = longer
      }
      await until(() => first.remaining() === 0, 'the first lease is over')
      await expectHeld(environment, configuration.name)
      await lock.unlock()
      await expectFree(environment, configuration.name)
    },
  },
  {
    title: 'does not shorten a lease that is extended by less than what is left',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      const asked = new Lease(100)
      const before = lock.remaining()
      const same = await lock.extend('100ms')
      assert(same, NOT_EXTENDED)
      assert(same.remaining() > 100 && same.remaining() <= before + 100, 'the holder trusts another lease')
      await until(() => asked.remaining() === 0, 'the time that was asked for is over')
      await expectHeld(environment, configuration.name)
      await same.unlock()
      await expectFree(environment, configuration.name)
    },
  },
  {
    title: 'does not extend a lock that is unlocked',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      await lock.unlock()
      await expectLockError(lock.extend('10s'), 'LOCK_SPENT')
      await expectFree(environment, configuration.name)
    },
  },
  {
    title: 'does not extend a lock whose lease is over',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '2s' })
      const lock = await take(await environment.createProvider(), configuration)
      await untilFree(environment, configuration.name)
      assert.equal(await lock.extend('10s'), undefined, EXTENDED)
      await expectFree(environment, configuration.name)
    },
  },
  {
    title: 'honours the lockAtLeastFor of an extension',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '10m' })
      const lock = await take(await environment.createProvider(), configuration)
      const longer = await lock.extend('10m', '9m')
      assert(longer, NOT_EXTENDED)
      await longer.unlock()
      await expectHeld(environment, configuration.name)
    },
  },
  {
    title: 'keeps the lockAtLeastFor given before when an extension gives none',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '10m', lockAtLeastFor: '9m' })
      const lock = await take(await environment.createProvider(), configuration)
      const longer = await lock.extend('10m')
      assert(longer, NOT_EXTENDED)
      await longer.unlock()
      await expectHeld(environment, configuration.name)
    },
  },
  {
    title: 'gives up the lockAtLeastFor given before when an extension gives 0',
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '10m', lockAtLeastFor: '9m' })
      const lock = await take(await environment.createProvider(), configuration)
      const longer = await lock.extend('10m', 0)
      assert(longer, NOT_EXTENDED)
      await longer.unlock()
      await untilFree(environment, configuration.name)
    },
  },
  {
    title: 'counts the lockAtLeastFor of an extension from the extension',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      await until(() => lock.remaining() < 300_000 - 2_000, 'the lock is two seconds old')
      const longer = await lock.extend('5m', '2s')
      assert(longer, NOT_EXTENDED)
      await longer.unlock()
      await expectHeld(environment, configuration.name)
      await untilFree(environment, configuration.name)
    },
  },
  {
    title: 'does not extend the same lock twice',
    run: async (environment) => {
      const lock = await take(await environment.createProvider(), newConfiguration())
      const longer = await lock.extend('10s')
      assert(longer, NOT_EXTENDED)
      await expectLockError(lock.extend('10s'), 'LOCK_SPENT')
      await longer.unlock()
    },
  },
  {
    title: 'does not unlock a lock that was extended, but its successor',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      const longer = await lock.extend('10s')
      assert(longer, NOT_EXTENDED)
      await expectLockError(lock.unlock(), 'LOCK_SPENT')
      await expectHeld(environment, configuration.name)
      await longer.unlock()
    },
  },
  {
    title: 'refuses an extension that can never work, and leaves the lock as it is',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      for (const lockAtMostFor of [0, -1, NaN, Infinity, '10foo']) {
        await expectLockError(lock.extend(lockAtMostFor), 'INVALID_CONFIGURATION')
      }
      await expectLockError(lock.extend('1s', '2s'), 'INVALID_CONFIGURATION')
      await expectHeld(environment, configuration.name)
      await lock.unlock()
    },
  },
]
