import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider, LockError, TrackingLockProvider } from '../../src/core'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { FaultyLockProvider } from './faulty-lock-provider'

let storage: InMemoryLockProvider
let faulty: FaultyLockProvider
let provider: TrackingLockProvider

beforeEach(() => {
  jest.useFakeTimers()
  storage = new InMemoryLockProvider()
  faulty = new FaultyLockProvider(storage)
  provider = new TrackingLockProvider(faulty)
})

afterEach(() => {
  jest.useRealTimers()
})

const names = () => provider.activeLocks.map(({ name }) => name)

async function take(name: string) {
  const lock = await provider.lock({ name, lockAtMostFor: '10m' })
  if (!lock) throw new Error('held')
  return lock
}

it('E4: knows what is held through unlocks and extensions', async () => {
  const a = await take('a')
  const b = await take('b')
  expect(names()).toEqual(['a', 'b'])
  await a.unlock()
  const longer = await b.extend('20m')
  expect(names()).toEqual(['b'])
  expect(provider.activeLocks[0]?.remaining()).toBe(1_200_000)
  await longer?.unlock()
  expect(names()).toEqual([])
})

it('does not count what somebody else holds, nor what could not be asked', async () => {
  await storage.lock({ name: 'held', lockAtMostFor: '10m' })
  expect(await provider.lock({ name: 'held', lockAtMostFor: '10m' })).toBeUndefined()
  faulty.faults.lock = new LockError('DATABASE_ERROR', 'gone')
  await expect(provider.lock({ name: 'b', lockAtMostFor: '10m' })).rejects.toThrow('gone')
  expect(names()).toEqual([])
})

it('forgets a lock whose lease is over', async () => {
  await take('a')
  await jest.advanceTimersByTimeAsync(600_000)
  expect(names()).toEqual([])
})

it('releases all, and whoever works under one finds it lost', async () => {
  const a = await take('a')
  const first = await take('b')
  const b = await first.extend('20m')
  await provider.releaseAll()
  expect(storage.isLocked('a') || storage.isLocked('b')).toBe(false)
  expect(names()).toEqual([])
  expect(a.signal.reason).toMatchObject({ code: 'SHUTDOWN' })
  expect(a.remaining()).toBe(0)
  expect(await b?.extend('1m')).toBeUndefined()
  await a.unlock()
  expect(faulty.calls.filter((call) => call === 'unlock')).toHaveLength(2)
})

it('releases after the extension that is in flight', async () => {
  const a = await take('a')
  const gate = promiseWithResolvers()
  faulty.gate = gate.promise
  const extension = a.extend('20m')
  const release = provider.releaseAll()
  gate.resolve()
  await Promise.all([extension, release])
  expect(storage.isLocked('a')).toBe(false)
  expect(names()).toEqual([])
})

it('releases the others when one fails, and says so', async () => {
  await take('a')
  await take('b')
  faulty.faults.unlock = new LockError('DATABASE_ERROR', 'gone')
  await expect(provider.releaseAll()).rejects.toMatchObject({ errors: [{ code: 'DATABASE_ERROR' }, {}] })
  expect(names()).toEqual([])
})

it('does not unlock a lock twice', async () => {
  const a = await take('a')
  await a.unlock()
  await expect(a.unlock()).rejects.toMatchObject({ code: 'LOCK_SPENT' })
})
