import { describe, expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { lockProviderSuite } from '../../src/testing/lock-provider-suite'
import { registerConcurrently } from './register'
import { startVirtualTime } from '../core/virtual-time'

describe('InMemoryLockProvider', () => {
  const provider = new InMemoryLockProvider()
  lockProviderSuite({ createProvider: () => provider, isHeld: (name) => provider.isLocked(name) }).forEach(
    registerConcurrently,
  )

  it('keeps held locks, slots and tokens, however many names come after them', async () => {
    // Several acquisitions in one millisecond get tokens that are ahead of the clock.
    startVirtualTime()
    const storage = new InMemoryLockProvider()
    const lockAtMostFor = '1h'
    const use = async (name: string): Promise<number> => {
      await using lock = await storage.lock({ name, lockAtMostFor })
      return Number(await lock?.fencingToken())
    }
    await storage.lock({ name: 'held', lockAtMostFor })
    const slot = { name: 'slot', lockAtMostFor, slot: Date.now() }
    await (await storage.lock(slot))?.unlock()
    // Also if the lock was last acquired without one.
    await use('slot')
    jest.advanceTimersByTime(1_000)
    await use('token')
    const token = await use('token')
    for (let name = 0; name < 300; name++) await use(`other ${name}`)
    expect(await storage.lock({ name: 'held', lockAtMostFor })).toBeUndefined()
    expect(await storage.lock(slot)).toBeUndefined()
    expect(await use('token')).toBeGreaterThan(token)
  })
})
