import { beforeAll, expect, it } from '@jest/globals'
import type { LockConfiguration } from '../../src/core/lock'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { LastRun } from '../../src/sql/owner'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { eventually } from '../eventually'
import { describeBackends } from '../backends'
import { everyClient, openedClient } from './every-client'
import { lockRow } from '../sql/lock-row'

const HOUR = 3_600_000

// Not about an ORM.
const clients = everyClient().filter(({ orm }) => orm === 'TypeORM')

describeBackends(clients)('the last run by $title', (each) => {
  const client = openedClient(each)
  let provider: SqlLockProvider

  beforeAll(() => {
    provider = client.createProvider({ lockedBy: 'x/failed' })
  })

  const lastRun = async (name: string): Promise<LastRun | undefined> => {
    const found = await provider.table.find(name)
    const listed = (await provider.table.list()).find((lock) => lock.name === name)
    expect(listed?.lastRun).toEqual(found?.lastRun)
    return found?.lastRun
  }
  const execute = (configuration: LockConfiguration, task: () => unknown): Promise<unknown> =>
    new LockingTaskExecutor(provider).executeWithLock(configuration, task)

  it.each([
    ['after it', 0],
    ['even while lockAtLeastFor keeps the lock held', '2m'],
  ])("has times by the database's clock %s, and is undefined during a run", async (_, lockAtLeastFor) => {
    const name = `times ${lockAtLeastFor}`
    const configuration = { name, lockAtMostFor: '1h', lockAtLeastFor, slot: Date.now() - HOUR }
    const before = await client.table.clock()
    await execute(configuration, async () => expect(await lastRun(name)).toBeUndefined())
    const after = await client.table.clock()
    const { outcome, startedAt, endedAt, duration } = (await lastRun(name)) ?? {}
    expect(outcome).toBe('succeeded')
    // Each clock is cut to milliseconds, and they do not run alike.
    expect(startedAt?.getTime()).toBeGreaterThanOrEqual(before - 5)
    expect(endedAt?.getTime()).toBeLessThanOrEqual(after + 5)
    expect(Number(endedAt) - Number(startedAt)).toBe(duration)
  })

  it('has the outcome of the task, or the one that unlock() was given, or none', async () => {
    const configuration = { name: 'outcomes', lockAtMostFor: '1h' }
    const fails = execute(configuration, () => Promise.reject(new Error('of the task')))
    await expect(fails).rejects.toThrow('of the task')
    expect(await lastRun('outcomes')).toMatchObject({ outcome: 'failed', error: 'Error' })
    for (const outcome of ['succeeded', 'failed', undefined] as const) {
      await (await provider.lock(configuration))?.unlock({ outcome })
      expect(await lastRun('outcomes')).toMatchObject({ outcome: outcome ?? 'unlocked' })
    }
    await (await provider.lock(configuration))?.unlock({ outcome: 'unused' })
    expect(await lastRun('outcomes')).toEqual({ outcome: 'unlocked', endedAt: expect.any(Date) })
    await provider.lock(configuration)
    const held = await lockRow(provider, 'outcomes')
    expect(await provider.table.release({ ...held, lockUntil: new Date(0) })).toBe(false)
    expect(await provider.table.release(held)).toBe(true)
    expect(await lastRun('outcomes')).toEqual({ outcome: 'unlocked', endedAt: expect.any(Date) })
  })

  it('has died when its lease is over, until its holder reports an outcome', async () => {
    const lock = await provider.lock({ name: 'died', lockAtMostFor: '1s' })
    await eventually(async () => expect((await provider.table.find('died'))?.held).toBe(false))
    const died = await lockRow(provider, 'died')
    expect(await lastRun('died')).toEqual({ outcome: 'died', endedAt: died.lockUntil })
    expect(await provider.table.release(died)).toBe(false)
    expect((await lastRun('died'))?.outcome).toBe('died')
    await lock?.unlock({ outcome: 'succeeded' })
    expect(await lastRun('died')).toMatchObject({ outcome: 'succeeded', error: 'LOCK_LOST' })
    // Another instance may have run beside it, so a probe must show it as the page does.
    const [outlived] = await provider.table.overdue({ died: '1h' }, { mustHaveSucceeded: true })
    expect(outlived).toMatchObject({ state: 'failed', record: { lastRun: { error: 'LOCK_LOST' } } })
  })

  it('is forgotten by a pause, during it and afterwards', async () => {
    await execute({ name: 'paused', lockAtMostFor: '1h', slot: 5_000 }, () => undefined)
    await provider.table.pause('paused', { duration: '1h', reason: 'a look' })
    expect(await lastRun('paused')).toBeUndefined()
    await provider.table.resume('paused')
    expect(await lastRun('paused')).toBeUndefined()
    const again = { name: 'paused', lockAtMostFor: '1h', slot: 5_000, untilSucceeded: true }
    expect(await provider.lock(again)).toBeUndefined()
  })

  it('makes a lock overdue that is to have succeeded, and one whose run takes too long or was due too long ago', async () => {
    await execute({ name: 'late', lockAtMostFor: '1h', slot: Date.now() - 2 * HOUR }, async () => {
      const late = (runningAtMost: string) => provider.table.overdue({ late: '1d' }, { runningAtMost })
      expect(await late('1h')).toMatchObject([{ state: 'late', why: 'running for 2h, limit 1h' }])
      expect(await late('3h')).toEqual([])
    })
    const limits = { overdue: '1h' } as const
    const overdue = async (): Promise<unknown> =>
      (await provider.table.overdue(limits, { mustHaveSucceeded: true, runningAtMost: 0 })).map(
        ({ state }) => state,
      )
    expect(await overdue()).toEqual(['late'])
    await execute({ name: 'overdue', lockAtMostFor: '1h' }, async () => {
      await eventually(async () => expect(await overdue()).toEqual(['late']))
      expect(await provider.table.overdue(limits, { mustHaveSucceeded: true })).toEqual([])
    })
    expect(await overdue()).toEqual([])
    await (await provider.lock({ name: 'overdue', lockAtMostFor: '1h' }))?.unlock({ outcome: 'failed' })
    expect(await overdue()).toEqual(['failed'])
    expect(await provider.table.overdue(limits)).toEqual([])
    await provider.table.pause('overdue', { duration: '1h', reason: 'a look' })
    expect(await overdue()).toEqual([])
    await provider.table.resume('overdue')
    expect(await overdue()).toEqual([])
  })
})
