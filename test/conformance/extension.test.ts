import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, KeepAliveLockProvider, LockingTaskExecutor } from '../../src/core'
import { everyClient, type OpenClient } from './every-client'
import { describeBackends } from '../backends'

const HOUR = 3_600_000

describeBackends(everyClient())('extend by $title', (each) => {
  let client: OpenClient

  beforeAll(async () => {
    client = await each.open()
  })
  afterAll(async () => {
    await client.close()
  })

  it('to a shorter time changes nothing: neither the row nor what the holder trusts is shortened', async () => {
    const lock = await client.createProvider().lock({ name: 'shorter', lockAtMostFor: '1h' })
    const before = await client.table.findRow('shorter')
    const longer = await lock?.extend('10s')
    const after = await client.table.findRow('shorter')
    expect((after?.lockUntil ?? 0) - (before?.lockUntil ?? 0)).toBeGreaterThanOrEqual(0)
    expect((after?.lockUntil ?? 0) - (before?.lockUntil ?? 0)).toBeLessThanOrEqual(1)
    expect(longer?.remaining()).toBeGreaterThan(HOUR / 2)
    await longer?.unlock()
    expect(await client.table.isHeld('shorter')).toBe(false)
  })

  it('to a longer time counts from now', async () => {
    const lock = await client.createProvider().lock({ name: 'longer', lockAtMostFor: '1m' })
    const longer = await lock?.extend('1h')
    expect(longer?.remaining()).toBeGreaterThan(HOUR / 2)
    const { lockUntil = 0 } = (await client.table.findRow('longer')) ?? {}
    expect(lockUntil - (await client.table.clock())).toBeGreaterThan(HOUR / 2)
    await longer?.unlock()
  })

  it('of a task keeps the longer lease too', async () => {
    const executor = new LockingTaskExecutor(client.createProvider())
    await executor.executeWithLock({ name: 'task', lockAtMostFor: '1h' }, async ({ lock, signal }) => {
      await lock.extend('10s')
      expect(lock.remaining()).toBeGreaterThan(HOUR / 2)
      expect(signal.aborted).toBe(false)
    })
  })

  it('finds nothing after the unlock, though lockAtLeastFor still holds the row', async () => {
    const { table } = client
    const provider = client.createProvider({ lockedBy: 'host-1/42' })
    const lock = await provider.lock({ name: 'final', lockAtMostFor: '1h', lockAtLeastFor: '30m' })
    await lock?.unlock()
    const row = await table.findRow('final')
    expect(row?.lockedBy).toMatch(/^host-1\/42\/\d+\+\d+ unlocked$/)
    const since = (row?.lockUntil ?? 0) - (row?.lockedAt ?? 0)
    expect(Math.abs(since - HOUR / 2)).toBeLessThan(60_000)
    expect(await provider.lock({ name: 'final', lockAtMostFor: '1h' })).toBeUndefined()
  })
})

describe('extend of other providers', () => {
  it('in memory prolongs and never shortens', async () => {
    const provider = new InMemoryLockProvider({ now: () => 0 })
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const longer = await lock?.extend('10s')
    expect(longer?.remaining()).toBeGreaterThanOrEqual(HOUR)
  })

  it('of a lock that is kept alive never shortens it', async () => {
    const provider = new KeepAliveLockProvider(new InMemoryLockProvider())
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const longer = await lock?.extend('10s')
    expect(longer?.remaining()).toBeGreaterThan(HOUR / 2)
    await longer?.unlock()
  })
})
