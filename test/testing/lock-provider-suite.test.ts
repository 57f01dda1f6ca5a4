import { expect, it } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/internal'
import { lockProviderSuite } from '../../src/testing'
import { providerOf } from '../core/provider-of'

const storage = new InMemoryLockProvider()
const environment = {
  createProvider: () => storage,
  isHeld: (name: string) => storage.isLocked(name),
}

it('The timeLimit of a case is a minute, or what the options of the suite say', () => {
  expect(new Set(lockProviderSuite(environment).map(({ timeLimit }) => timeLimit))).toEqual(new Set([60_000]))
  const patient = lockProviderSuite(environment, { timeLimit: '5m' })
  expect(new Set(patient.map(({ timeLimit }) => timeLimit))).toEqual(new Set([300_000]))
})

it('A case that fails says which lock is in which state', async () => {
  const cases = lockProviderSuite({
    ...environment,
    createProvider: () =>
      providerOf(async (configuration) => {
        const acquired = await storage.acquire(configuration)
        return 'reason' in acquired
          ? acquired
          : { ...acquired, extend: () => Promise.resolve(acquired.lease) }
      }),
  })
  const extending = cases.find(({ title }) => title === 'honours the lockAtLeastFor of an extension')
  await expect(extending?.run()).rejects.toThrow(/^lock '.*' should be held/)
})
