import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider, LockError, WaitingLockProvider } from '../../src/core'
import { FaultyLockProvider } from './faulty-lock-provider'

const job = { name: 'job', lockAtMostFor: '10m' }
let storage: InMemoryLockProvider
let faulty: FaultyLockProvider

beforeEach(() => {
  jest.useFakeTimers()
  storage = new InMemoryLockProvider()
  faulty = new FaultyLockProvider(storage)
})

afterEach(() => {
  jest.useRealTimers()
})

it('gives a free lock at once', async () => {
  expect(await new WaitingLockProvider(storage, { timeout: '1m' }).lock(job)).toBeDefined()
})

it('waits until the holder unlocks, and gives a lease that begins then', async () => {
  const holder = await storage.lock(job)
  const waiting = new WaitingLockProvider(storage, { timeout: '1m' }).lock(job)
  await jest.advanceTimersByTimeAsync(30_000)
  await holder?.unlock()
  await jest.advanceTimersByTimeAsync(500)
  const lock = await waiting
  expect(lock?.remaining()).toBeGreaterThan(590_000)
})

it('gives up at the timeout, after one last question', async () => {
  await storage.lock(job)
  const waiting = new WaitingLockProvider(faulty, { timeout: '1m', pause: '10s' }).lock(job)
  await jest.advanceTimersByTimeAsync(59_999)
  const asked = faulty.calls.length
  await jest.advanceTimersByTimeAsync(1)
  expect(await waiting).toBeUndefined()
  expect(faulty.calls.length).toBe(asked + 1)
  expect(asked).toBeGreaterThanOrEqual(6)
  expect(asked).toBeLessThanOrEqual(12)
})

it('asks once with a timeout of 0', async () => {
  await storage.lock(job)
  expect(await new WaitingLockProvider(faulty, { timeout: 0 }).lock(job)).toBeUndefined()
  expect(faulty.calls).toEqual(['lock'])
})

it('does not wait for a database that does not answer', async () => {
  faulty.faults.lock = new LockError('DATABASE_ERROR', 'gone')
  await expect(new WaitingLockProvider(faulty, { timeout: '1m' }).lock(job)).rejects.toThrow('gone')
})

it('refuses a pause of 0, a timeout that is none, and options that do not exist', () => {
  const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
  expect(() => new WaitingLockProvider(storage, { timeout: '1m', pause: 0 })).toThrow(invalid)
  expect(() => new WaitingLockProvider(storage, { timeout: 'soon' })).toThrow(invalid)
  expect(() => new WaitingLockProvider(storage, undefined as never)).toThrow(invalid)
  expect(() => new WaitingLockProvider(storage, { timeout: '1m', retries: 3 } as never)).toThrow(
    "Unknown option 'retries' in the waiting options – known are timeout, pause.",
  )
})
