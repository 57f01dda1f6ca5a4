import { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core'
import type { LockRecord, SqlLockProvider } from '../../src/sql'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'

const HOUR = 3_600_000

describeBackends(availableBackends())('on $name', (backend) => {
  let dataSource: DataSource
  let provider: SqlLockProvider

  beforeEach(async () => {
    ;({ dataSource } = await openDatabase(backend))
    provider = typeOrmLockProvider(dataSource, { lockedBy: 'host-1/42' })
    await Promise.all([provider.createTable(), provider.createTable()])
  })

  const row = async (name = 'job'): Promise<LockRecord | undefined> =>
    (await provider.listLocks()).find((lock) => lock.name === name)
  const runs = async (slot?: number): Promise<boolean> =>
    (
      await new LockingTaskExecutor(provider).executeWithLock(
        { name: 'job', lockAtMostFor: '1m', slot },
        () => undefined,
      )
    ).executed

  it('a paused job is skipped until it is resumed, and the pause is no run', async () => {
    expect(await runs()).toBe(true)
    const before = (await row())?.lockedAt
    expect(await provider.pauseLock('job', { for: '8h', reason: 'migration', by: 'ann' })).toBe(true)
    const paused = await row()
    expect(paused).toMatchObject({ held: true, paused: true, lockedAt: before })
    expect(paused?.lockedBy).toMatch(/^paused by ann: migration\/[\da-f-]{36}$/)
    expect(Math.abs(Number(paused?.lockUntil) - Number(paused?.now) - 8 * HOUR)).toBeLessThan(HOUR)
    expect(await runs()).toBe(false)
    expect(await runs(Date.now())).toBe(false)
    // Not by somebody else either.
    expect(await provider.pauseLock('job', { for: '1h', reason: 'me too' })).toBe(false)
    expect(await provider.resumeLock('job')).toBe(true)
    expect(await row()).toMatchObject({ held: false, paused: false, lockedAt: before })
    expect(await provider.resumeLock('job')).toBe(false)
    expect(await runs(Date.now())).toBe(true)
  })

  it('a job that never ran can be paused, and has still never run', async () => {
    expect(await provider.pauseLock('job', { for: '8h', reason: 'not yet' })).toBe(true)
    expect((await row())?.lockedBy).toMatch(/^paused by host-1\/42: not yet\//)
    expect(await provider.overdueLocks({ job: '1m' })).toEqual([])
    expect(await provider.resumeLock('job')).toBe(true)
    expect(await provider.overdueLocks({ job: '1m', other: '2h' })).toEqual([
      { name: 'job', limit: 60_000, reason: 'late' },
      { name: 'other', limit: 2 * HOUR, reason: 'late' },
    ])
    expect(await runs()).toBe(true)
    expect(await provider.overdueLocks({ job: '1h' })).toEqual([])
    const slot = Date.now() - 2 * HOUR
    const late = await provider.lock({ name: 'late', lockAtMostFor: '1m', slot })
    const [overdue, ...others] = await provider.overdueLocks({ late: '1h', job: '1h' })
    expect(others).toEqual([])
    expect(overdue).toMatchObject({ name: 'late', limit: HOUR, lockedAt: new Date(slot) })
    expect(overdue?.age).toBeGreaterThan(HOUR)
    await late?.unlock()
  })

  it('a skip says who holds the lock, where that costs no question', async () => {
    await provider.lock({ name: 'held', lockAtMostFor: '1m' })
    await provider.pauseLock('job', { for: '1h', reason: 'r', by: 'ann' })
    const [held, paused] = await provider.listLocks()
    const executor = new LockingTaskExecutor(provider)
    const skip = (name: string) =>
      executor.executeWithLock({ name, lockAtMostFor: '1m', onNotAcquired: 'throw' }, () => undefined)
    const messages = await Promise.all([skip('held'), skip('job')].map((each) => each.catch(String)))
    const until = (lock: LockRecord | undefined) => lock?.lockUntil.toISOString() ?? ''
    expect(messages).toEqual(
      ['postgres', 'cockroachdb', 'mssql'].includes(backend.dialect)
        ? ['held', 'job'].map(
            (name) => `LockError: Lock '${name}' is held by somebody else – the task was skipped.`,
          )
        : [
            `LockError: Lock 'held' is held by host-1/42 until ${until(held)} – the task was skipped.`,
            `LockError: Lock 'job' is paused by ann: r until ${until(paused)} – the task was skipped.`,
          ],
    )
  })

  it('a run in progress is not paused, and only waited for if wanted', async () => {
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    expect(await provider.pauseLock('job', { for: '1h', reason: 'r' })).toBe(false)
    expect(await row()).toMatchObject({ held: true, paused: false })
    expect(await provider.resumeLock('job')).toBe(false)
    const waiting = provider.pauseLock('job', { for: '1h', reason: 'r', wait: '30s' })
    await lock?.unlock()
    expect(await waiting).toBe(true)
    expect((await row())?.paused).toBe(true)
  })
})

it.each([
  [{ for: '8h', reason: ' ' }, 'has no end or no reason'],
  [{ for: 0, reason: 'r' }, 'has no end or no reason'],
  [{ for: '8h', reason: 'x'.repeat(300) }, 'by and reason of a pause'],
  [{ for: '8h', reason: 'a\nb' }, 'by and reason of a pause'],
  [{ for: 'soon', reason: 'r' }, "'soon'"],
  [{ for: '8h', reason: 'r', until: 1 }, "'until'"],
])('a pause of %j is refused', async (options, message) => {
  const provider = typeOrmLockProvider(new DataSource({ type: 'better-sqlite3', database: ':memory:' }))
  await expect(provider.pauseLock('job', options)).rejects.toMatchObject({
    code: 'INVALID_CONFIGURATION',
    message: expect.stringContaining(message),
  })
})

it('no app calls itself a pause', () => {
  const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
  expect(() => typeOrmLockProvider(dataSource, { lockedBy: 'paused by me' })).toThrow('begins with')
})
