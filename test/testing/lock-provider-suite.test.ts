import { expect, it } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core'
import { lockProviderSuite } from '../../src/testing'

const storage = new InMemoryLockProvider()
const environment = {
  createProvider: () => storage,
  isHeld: (name: string) => storage.isLocked(name),
}

it('A case tells how long it may take: a minute, or what the suite was told', () => {
  expect(new Set(lockProviderSuite(environment).map(({ timeLimit }) => timeLimit))).toEqual(new Set([60_000]))
  const patient = lockProviderSuite(environment, { timeLimit: '5m' })
  expect(new Set(patient.map(({ timeLimit }) => timeLimit))).toEqual(new Set([300_000]))
  expect(() => lockProviderSuite(environment, { timelimit: '5m' } as never)).toThrow(/Unknown option/)
})

it('A case that fails says what went wrong', async () => {
  const cases = lockProviderSuite({
    ...environment,
    createProvider: () => ({
      lock: async (...asked: Parameters<typeof storage.lock>) => {
        const lock = await storage.lock(...asked)
        return lock && Object.assign(lock, { extend: () => Promise.resolve(undefined) })
      },
    }),
  })
  const extending = cases.find(({ title }) => title === 'extends a lock beyond its first lease')
  await expect(extending?.run()).rejects.toThrow('extend() returned another lock')
})
