import { expectFree, expectHeld, expectRefused, newConfiguration, take } from './expectations'
import type { LockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

export const creatingCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'takes a lock and frees it',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const lock = await take(provider, configuration)
      await expectHeld(environment, configuration.name)
      await lock.unlock()
      await expectFree(environment, configuration.name)
    },
  },
  {
    title: 'refuses a second lock of the same name while the first is held',
    run: async (environment) => {
      const configuration = newConfiguration()
      const lock = await take(await environment.createProvider(), configuration)
      await expectRefused(await environment.createProvider(), configuration)
      await lock.unlock()
    },
  },
  {
    title: 'refuses the holder itself a second lock of the same name',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const lock = await take(provider, configuration)
      await expectRefused(provider, configuration)
      await lock.unlock()
    },
  },
  {
    title: 'keeps locks of different names apart',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const [one, other] = [newConfiguration(), newConfiguration()]
      const first = await take(provider, one)
      const second = await take(provider, other)
      await first.unlock()
      await expectHeld(environment, other.name)
      await second.unlock()
      await expectFree(environment, other.name)
    },
  },
  {
    title: 'can be locked, by whomever, as soon as it is unlocked',
    run: async (environment) => {
      const configuration = newConfiguration()
      for (let round = 0; round < 10; round++) {
        const provider = await environment.createProvider()
        const lock = await take(provider, configuration)
        await expectRefused(provider, configuration)
        await lock.unlock()
      }
    },
  },
  {
    title: 'is never refused in 500 locks right after their unlock',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      for (let round = 0; round < 500; round++) {
        const lock = await take(provider, configuration)
        await lock.unlock()
      }
    },
  },
  {
    title: 'frees the lock at the end of `await using`',
    run: async (environment) => {
      const configuration = newConfiguration()
      const provider = await environment.createProvider()
      const lock = await take(provider, configuration)
      await lock[Symbol.asyncDispose]()
      await expectFree(environment, configuration.name)
      await lock[Symbol.asyncDispose]()
    },
  },
]
