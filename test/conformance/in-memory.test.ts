import { describe, it } from 'vitest'
import { InMemoryLockProvider } from '../../src/core'
import { lockProviderSuite } from '../../src/testing'

describe.concurrent('InMemoryLockProvider', () => {
  const provider = new InMemoryLockProvider()
  const cases = lockProviderSuite({
    createProvider: () => provider,
    isHeld: (name) => provider.isLocked(name),
  })
  for (const { title, skip, run } of cases) it(title, { skip: skip !== undefined }, run)
})
