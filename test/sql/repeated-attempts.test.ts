import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { dialects, DriverError, SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { eventually } from '../eventually'
import { everyClient, openedClient } from '../conformance/every-client'
import { type Fault, UnreliableClient } from '../unreliable-client'

const sqlite = everyClient().filter(({ orm, dialect }) => orm === 'TypeORM' && dialect === 'sqlite')
/** Beside each other: they wait for leases and time limits. */
const it = test.concurrent

describeBackends(sqlite)('asking again, by $title', (each) => {
  const client = openedClient(each)
  const connect = (timeLimit: string) => {
    const network = new UnreliableClient(client.sqlClient)
    return { network, provider: new SqlLockProvider(network, dialects.sqlite, { timeLimit }) }
  }
  /** Delivers no writes. */
  const swallowing: Fault = (send, isWrite) => (isWrite ? new Promise(() => undefined) : send())

  it('an extension whose request got lost is sent again before the lease is over', async () => {
    const { network, provider } = connect('1m')
    const lock = await provider.lock({ name: 'swallowed', lockAtMostFor: '5s' })
    network.next = 'late'
    await lock?.extend('1h')
    expect(lock?.remaining()).toBeGreaterThan(1_800_000)
    await lock?.unlock()
  })

  it('an extension ends with the lease, however long the time limit is', async () => {
    const { network, provider } = connect('1h')
    const lock = await provider.lock({ name: 'ends', lockAtMostFor: '2s' })
    network.fault = swallowing
    await expect(lock?.extend('1h')).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/no more was left of its lease\. Extend it earlier/),
    })
  }, 20_000)

  it('a lock that is in the way is reported, even if the last attempt had no time for an answer', async () => {
    const { network, provider } = connect('1s')
    network.fault = swallowing
    network.next = () => Promise.reject(new DriverError('SQLITE_BUSY', 'database is locked'))
    await expect(provider.lock({ name: 'in the way', lockAtMostFor: '1m' })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('too busy'),
    })
  })

  it('an unlock in the background is sent again if an attempt got lost', async () => {
    const { network, provider } = connect('1s')
    const lock = await provider.lock({ name: 'background', lockAtMostFor: '1h' })
    network.fault = swallowing
    await expect(lock?.unlock()).rejects.toMatchObject({ code: 'TIMEOUT' })
    // The first attempt in the background was made before the error was thrown.
    network.fault = undefined
    await eventually(async () => expect(await client.table.isHeld('background')).toBe(false), {
      timeout: 10_000,
    })
  })

  it('a pause whose request arrives late has no effect once the pause was ended', async () => {
    const { table } = client
    const { network, provider } = connect('1s')
    await (await provider.lock({ name: 'paused', lockAtMostFor: '1m' }))?.unlock()
    network.next = 'late'
    const paused = provider.table.pause('paused', { duration: '8h', reason: 'too late' })
    await paused.catch(() => undefined)
    await provider.table.resume('paused')
    await network.deliver()
    await eventually(async () => expect(await table.isHeld('paused')).toBe(false))
    await expect(paused).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('a lock is released although the answer got lost and its connection never reports an error', async () => {
    const { table } = client
    const { network, provider } = connect('1s')
    network.next = async (send) => {
      await send()
      return new Promise(() => undefined)
    }
    const locking = provider.lock({ name: 'half open', lockAtMostFor: '1h' })
    await expect(locking).rejects.toMatchObject({ code: 'TIMEOUT' })
    await eventually(async () => expect(await table.isHeld('half open')).toBe(false))
  })

  it('an error is explained within the same time limit', async () => {
    const { network, provider } = connect('3s')
    const lock = await provider.lock({ name: 'explained', lockAtMostFor: '1h' })
    network.fault = async (_, isWrite) => {
      if (!isWrite) return new Promise(() => undefined)
      await sleep(2_000)
      throw new DriverError('refused', 'no such table')
    }
    const answer = lock?.extend('2h').catch((error: unknown) => error)
    // Two seconds for the answer; what is left for its explanation is one, and not three.
    const outcome = await Promise.race([answer, sleep(4_500, 'still waiting')])
    expect(outcome).toMatchObject({ name: 'LockError' })
    await answer
  })

  it('all attempts together have one time limit', async () => {
    const { network, provider } = connect('3s')
    network.fault = swallowing
    network.next = async () => {
      await sleep(2_000)
      throw new DriverError('SQLITE_BUSY', 'another connection writes')
    }
    const answer = provider.lock({ name: 'attempts', lockAtMostFor: '1h' }).catch((error: unknown) => error)
    const outcome = await Promise.race([answer, sleep(4_500, 'still waiting')])
    expect(outcome).toMatchObject({ code: 'TIMEOUT' })
    expect(network.sent.length).toBeGreaterThan(1)
  })

  it('keep-alive does not undo an extension by hand that was on its way at half time', async () => {
    const { network, provider } = connect('5s')
    const configuration = { name: 'half time', lockAtMostFor: '4s', keepAlive: true }
    await new LockingTaskExecutor(provider).executeWithLock(configuration, async ({ lock }) => {
      network.next = 'late'
      let settled = false
      const extended = lock.extend('1h').finally(() => (settled = true))
      await eventually(() => expect(settled || lock.remaining() < 1_900).toBe(true))
      await network.deliver()
      await extended
      expect(lock.remaining()).toBeGreaterThan(1_800_000)
      // What was queued meanwhile comes now.
      await sleep(100)
      expect(lock.remaining()).toBeGreaterThan(1_800_000)
    })
  })
})
