import assert from 'node:assert/strict'
import { EXTENDED, expectHeld, expectLockError, newConfiguration, take, untilFree } from './expectations'
import type { LockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

/** All holders here are in one process, so that neither host name nor process id tells them apart. */
export const ownershipCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'does not let a late holder unlock its successor',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const late = await take(provider, { ...configuration, lockAtMostFor: '2s' })
      await untilFree(environment, configuration.name)
      const successor = await take(provider, configuration)
      await late.unlock()
      await expectHeld(environment, configuration.name)
      await successor.unlock()
    },
  },
  {
    title: 'does not let a late holder with a lockAtLeastFor change the lease of its successor',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const late = await take(provider, { ...configuration, lockAtMostFor: '2s', lockAtLeastFor: '2s' })
      await untilFree(environment, configuration.name)
      const successor = await take(provider, { ...configuration, lockAtMostFor: '1s' })
      await late.unlock()
      await untilFree(environment, configuration.name)
      assert.equal(successor.remaining(), 0, 'the lock was free while its holder trusted it')
    },
  },
  {
    title: 'does not let a late holder extend the lock of its successor',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration({ lockAtMostFor: '2s' })
      const late = await take(provider, configuration)
      await untilFree(environment, configuration.name)
      const successor = await take(provider, { ...configuration, lockAtMostFor: '2s' })
      assert.equal(await late.extend('5m'), undefined, EXTENDED)
      assert(successor.remaining() <= 2_000)
      await untilFree(environment, configuration.name)
    },
  },
  {
    title: 'does not unlock twice',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const lock = await take(provider, configuration)
      await lock.unlock()
      const successor = await take(provider, configuration)
      await expectLockError(lock.unlock(), 'LOCK_SPENT')
      await expectHeld(environment, configuration.name)
      await successor.unlock()
    },
  },
]
