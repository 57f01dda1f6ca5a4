import { expect, test } from '@jest/globals'
import { InMemoryLockProvider, type LockProvider } from '../../src/core'
import { ShedLockStore } from '../../src/nestjs'
import { alwaysFree, FakeClock } from '../../src/testing'

test('a lock that is over exists for no method, before any timer fires', async () => {
  const clock = new FakeClock()
  const store = new ShedLockStore(new InMemoryLockProvider(clock))
  for (const over of [
    () => store.release('key', 'owner'),
    () => store.renew('key', 'owner', 1_000),
    async () => !(await store.acquire('key', 'another', 1_000)).acquired,
  ]) {
    expect(await store.acquire('key', 'owner', 1_000)).toMatchObject({ acquired: true })
    clock.advance(1_000)
    expect(await over()).toBe(false)
    clock.advance(1_000)
  }
})

test('what the store cannot give a token for is released again', async () => {
  const provider = new InMemoryLockProvider()
  const failing: LockProvider = {
    lock: async (...asked) => {
      const lock = await provider.lock(...asked)
      return lock && { ...lock, fencingToken: () => Promise.reject(new Error('no answer')) }
    },
  }
  await expect(new ShedLockStore(failing).acquire('key', 'owner', 60_000)).rejects.toThrow('no answer')
  expect(provider.isLocked('key')).toBe(false)
})

test('with locks that are always free it has tokens as well', async () => {
  const store = new ShedLockStore(alwaysFree())
  expect(await store.acquire('key', 'one', 60_000)).toEqual({ acquired: true, fencingToken: 1 })
  expect(await store.acquire('key', 'two', 60_000)).toEqual({ acquired: true, fencingToken: 2 })
})
