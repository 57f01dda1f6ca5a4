import { describe } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/internal'
import { lockProviderSuite } from '../../src/testing'
import { registerConcurrently } from './register'

describe('InMemoryLockProvider', () => {
  const provider = new InMemoryLockProvider()
  lockProviderSuite({
    createProvider: () => provider,
    isHeld: (name) => provider.isLocked(name),
  }).forEach(registerConcurrently)
})
