import { expect, it } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/internal'
import { lockProviderSuite } from '../../src/testing'
import { providerOf } from '../core/provider-of'

const storage = new InMemoryLockProvider()
const environment = {
  createProvider: () => storage,
  isHeld: (name: string) => storage.isLocked(name),
}

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
  const extending = cases.find(
    ({ title }) => title === 'keeps the lock for the lockAtLeastFor of its last extension, if that has one',
  )
  await expect(extending?.run()).rejects.toThrow(/^lock '.*' should be held/)
})
