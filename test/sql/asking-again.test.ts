import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { dialects, DriverError, SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { eventually } from '../eventually'
import { everyClient, openedClient } from '../conformance/every-client'
import { PostalSender } from '../conformance/postal-sender'
import { type StatementSender, clientOf } from '../statement-sender'

const sqlite = everyClient().filter(({ orm, dialect }) => orm === 'TypeORM' && dialect === 'sqlite')
/** Beside each other: they wait for leases and time limits. */
const it = test.concurrent

describeBackends(sqlite)('asking again, by $title', (each) => {
  const client = openedClient(each)
  /** The client, whose statement is `execute`. */
  const executing = (execute: StatementSender['execute']): StatementSender => ({
    query: (...all) => client.executor.query(...all),
    execute,
  })
  /** From when it is told, it delivers nothing. */
  const swallowing = () => {
    const state = { swallows: false }
    const execute: StatementSender['execute'] = (...all) =>
      state.swallows ? new Promise(() => undefined) : client.executor.execute(...all)
    return Object.assign(state, executing(execute))
  }

  it('an extension whose request got lost is sent again before the lease is over', async () => {
    const post = new PostalSender(client.executor)
    const provider = new SqlLockProvider(clientOf(post), dialects.sqlite, { timeLimit: '1m' })
    const lock = await provider.lock({ name: 'swallowed', lockAtMostFor: '5s' })
    post.next = 'late'
    await lock?.extend('1h')
    expect(lock?.remaining()).toBeGreaterThan(1_800_000)
    await lock?.unlock()
  })

  it('an extension ends with the lease, however long the time limit is', async () => {
    const line = swallowing()
    const provider = new SqlLockProvider(clientOf(line), dialects.sqlite, { timeLimit: '1h' })
    const lock = await provider.lock({ name: 'ends', lockAtMostFor: '2s' })
    line.swallows = true
    await expect(lock?.extend('1h')).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/no more was left of its lease\. Extend it earlier/),
    })
  }, 20_000)

  it('a lock that is in the way is reported, even if the last attempt had no time for an answer', async () => {
    const answers = [new DriverError('SQLITE_BUSY', 'database is locked')]
    const busy = executing(() => {
      const answer = answers.shift()
      return answer ? Promise.reject(answer) : new Promise(() => undefined)
    })
    const provider = new SqlLockProvider(clientOf(busy), dialects.sqlite, { timeLimit: '300ms' })
    await expect(provider.lock({ name: 'in the way', lockAtMostFor: '1m' })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('too busy'),
    })
  })

  it('an unlock in the background is sent again if an attempt got lost', async () => {
    const line = swallowing()
    const provider = new SqlLockProvider(clientOf(line), dialects.sqlite, { timeLimit: '300ms' })
    const lock = await provider.lock({ name: 'background', lockAtMostFor: '1h' })
    line.swallows = true
    await expect(lock?.unlock()).rejects.toMatchObject({ code: 'TIMEOUT' })
    // The first attempt in the background was made before the error was thrown.
    line.swallows = false
    await eventually(async () => expect(await client.table.isHeld('background')).toBe(false), {
      timeout: 10_000,
    })
  })

  it('a pause whose request arrives late has no effect once the pause was ended', async () => {
    const { executor, table } = client
    const post = new PostalSender(executor)
    const provider = new SqlLockProvider(clientOf(post), dialects.sqlite, { timeLimit: '300ms' })
    await (await provider.lock({ name: 'paused', lockAtMostFor: '1m' }))?.unlock()
    post.next = 'late'
    const paused = provider.table.pause('paused', { duration: '8h', reason: 'too late' })
    await paused.catch(() => undefined)
    await provider.table.resume('paused')
    await post.deliver()
    await eventually(async () => expect(await table.isHeld('paused')).toBe(false))
    await expect(paused).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('a lock is released although the answer got lost and its connection never reports an error', async () => {
    const { executor, table } = client
    let swallows = true
    const halfOpen = executing(async (...all) => {
      const changed = await executor.execute(...all)
      if (!swallows) return changed
      swallows = false
      return new Promise(() => undefined)
    })
    const provider = new SqlLockProvider(clientOf(halfOpen), dialects.sqlite, { timeLimit: '300ms' })
    const locking = provider.lock({ name: 'half open', lockAtMostFor: '1h' })
    await expect(locking).rejects.toMatchObject({ code: 'TIMEOUT' })
    await eventually(async () => expect(await table.isHeld('half open')).toBe(false))
  })

  it('an error is explained within the same time limit', async () => {
    const { executor } = client
    let fails = false
    const provider = new SqlLockProvider(
      clientOf({
        query: (...all) => (fails ? new Promise(() => undefined) : executor.query(...all)),
        execute: async (...all) => {
          if (!fails) return executor.execute(...all)
          await sleep(2_000)
          throw new DriverError('refused', 'no such table')
        },
      }),
      dialects.sqlite,
      { timeLimit: '3s' },
    )
    const lock = await provider.lock({ name: 'explained', lockAtMostFor: '1h' })
    fails = true
    const answer = lock?.extend('2h').catch((error: unknown) => error)
    // Two seconds for the answer; what is left for its explanation is one, and not three.
    const outcome = await Promise.race([answer, sleep(4_500, 'still waiting')])
    expect(outcome).toMatchObject({ name: 'LockError' })
    await answer
  })

  it('all attempts together have one time limit', async () => {
    let attempts = 0
    const busy = executing(async () => {
      if (++attempts > 1) return new Promise<number>(() => undefined)
      await sleep(2_000)
      throw new DriverError('SQLITE_BUSY', 'another connection writes')
    })
    const provider = new SqlLockProvider(clientOf(busy), dialects.sqlite, { timeLimit: '3s' })
    const answer = provider.lock({ name: 'attempts', lockAtMostFor: '1h' }).catch((error: unknown) => error)
    const outcome = await Promise.race([answer, sleep(4_500, 'still waiting')])
    expect(outcome).toMatchObject({ code: 'TIMEOUT' })
    expect(attempts).toBeGreaterThan(1)
  })

  it('keep-alive does not undo an extension by hand that was on its way at half time', async () => {
    const post = new PostalSender(client.executor)
    const provider = new SqlLockProvider(clientOf(post), dialects.sqlite)
    const configuration = { name: 'half time', lockAtMostFor: '4s', keepAlive: true }
    await new LockingTaskExecutor(provider).executeWithLock(configuration, async ({ lock }) => {
      post.next = 'late'
      let settled = false
      const extended = lock.extend('1h').finally(() => (settled = true))
      await eventually(() => expect(settled || lock.remaining() < 1_900).toBe(true))
      await post.deliver()
      await extended
      expect(lock.remaining()).toBeGreaterThan(1_800_000)
      // What was queued meanwhile comes now.
      await sleep(100)
      expect(lock.remaining()).toBeGreaterThan(1_800_000)
    })
  })
})
