import { beforeEach, expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { LockRecord, SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { openMemory, useDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'
import { lockRow } from './lock-row'

const HOUR = 3_600_000

describeBackends(availableBackends())('a pause on $name', (backend) => {
  const opened = useDatabase(backend)
  let provider: SqlLockProvider

  beforeEach(async () => {
    provider = typeOrmLockProvider(opened.dataSource, { lockedBy: 'host-1/42' })
    await Promise.all([provider.table.create(), provider.table.create()])
  })

  const row = () => lockRow(provider, 'job')
  const runs = async (slot?: number): Promise<boolean> =>
    (
      await new LockingTaskExecutor(provider).executeWithLock(
        { name: 'job', lockAtMostFor: '1m', slot },
        () => undefined,
      )
    ).executed

  it('a paused job is skipped until it is resumed, and the pause is no run', async () => {
    expect(await runs()).toBe(true)
    const before = (await row()).lockedAt
    expect(await provider.table.pause('job', { duration: '8h', reason: 'migration', pausedBy: 'ann' })).toBe(
      true,
    )
    const paused = await row()
    expect(paused).toMatchObject({ held: true, paused: true, lockedAt: before })
    expect(paused.lockedBy).toMatch(/^paused by ann: migration\/[\da-f-]{36}$/)
    expect(Math.abs(Number(paused.lockUntil) - Number(paused.now) - 8 * HOUR)).toBeLessThan(HOUR)
    expect(await runs()).toBe(false)
    expect(await runs(Date.now())).toBe(false)
    // Not by somebody else either.
    expect(await provider.table.pause('job', { duration: '1h', reason: 'me too' })).toBe(false)
    expect(await provider.table.resume('job')).toBe(true)
    expect(await row()).toMatchObject({ held: false, paused: false, lockedAt: before })
    expect(await provider.table.resume('job')).toBe(false)
    expect(await runs(Date.now())).toBe(true)
  })

  it('a job that never ran can be paused, and has still never run', async () => {
    expect(await provider.table.pause('job', { duration: '8h', reason: 'not yet' })).toBe(true)
    expect((await row()).lockedBy).toMatch(/^paused by host-1\/42: not yet\//)
    expect(await provider.table.overdue({ job: '1m' })).toEqual([])
    expect(await provider.table.resume('job')).toBe(true)
    expect(await provider.table.overdue({ job: '1m', other: '2h' })).toMatchObject([
      { name: 'job', overdueAfter: 60_000, state: 'late', why: 'never ran, limit 1m' },
      { name: 'other', overdueAfter: 2 * HOUR, state: 'late' },
    ])
    expect(await runs()).toBe(true)
    expect(await provider.table.overdue({ job: '1h' })).toEqual([])
    const slot = Date.now() - 2 * HOUR
    const late = await provider.lock({ name: 'late', lockAtMostFor: '1m', slot })
    expect(await provider.table.overdue({ late: '1h', job: '1h' })).toMatchObject([
      { name: 'late', overdueAfter: HOUR, state: 'late', record: { lockedAt: new Date(slot) } },
    ])
    await late?.unlock()
  })

  it('a skip reports who holds the lock, if that costs no extra query', async () => {
    await provider.lock({ name: 'held', lockAtMostFor: '1m' })
    await provider.table.pause('job', { duration: '1h', reason: 'r', pausedBy: 'ann' })
    const [held, paused] = await provider.table.list()
    const executor = new LockingTaskExecutor(provider)
    const skip = (name: string) =>
      executor.executeWithLock({ name, lockAtMostFor: '1m', onSkip: 'throw' }, () => undefined)
    const messages = await Promise.all([skip('held'), skip('job')].map((each) => each.catch(String)))
    const until = (lock: LockRecord | undefined) => lock?.lockUntil.toISOString() ?? ''
    expect(messages).toEqual(
      ['postgres', 'cockroachdb', 'mssql'].includes(backend.dialect)
        ? ['held', 'job'].map((name) => `LockError: Lock '${name}' is already held – the task was skipped.`)
        : [
            `LockError: Lock 'held' is held until ${until(held)} (host-1/42) – the task was skipped.`,
            `LockError: Lock 'job' is held until ${until(paused)} (paused by ann: r) – the task was skipped.`,
          ],
    )
  })

  it('a pause is resumed and a held lock released, and not the other way round', async () => {
    await provider.table.pause('job', { duration: '8h', reason: 'migration' })
    const pause = await row()
    expect(await provider.table.release(pause)).toBe(false)
    expect(await provider.table.resume({ ...pause, lockedBy: 'paused by nobody' })).toBe(false)
    expect(await provider.table.resume({ ...pause, lockUntil: new Date() })).toBe(false)
    expect((await row()).paused).toBe(true)
    expect(await provider.table.resume(pause)).toBe(true)
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
    const seen = await row()
    expect(await provider.table.resume(seen)).toBe(false)
    expect((await row()).held).toBe(true)
    // One that was extended since it was seen has a holder that is alive.
    await lock?.extend('2h')
    expect(await provider.table.release(seen)).toBe(false)
    expect(await provider.table.release(await row())).toBe(true)
  })

  it('a run in progress is not paused, and is waited for only with wait', async () => {
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    expect(await provider.table.pause('job', { duration: '1h', reason: 'r' })).toBe(false)
    expect(await row()).toMatchObject({ held: true, paused: false })
    expect(await provider.table.resume('job')).toBe(false)
    const waiting = provider.table.pause('job', { duration: '1h', reason: 'r', wait: '30s' })
    await lock?.unlock()
    expect(await waiting).toBe(true)
    expect((await row()).paused).toBe(true)
  })
})

it.each([
  [{ duration: '8h', reason: ' ' }, 'has no end or no reason'],
  [{ duration: 0, reason: 'r' }, 'has no end or no reason'],
  [{ duration: '8h', reason: 'x'.repeat(300) }, 'pausedBy and reason of a pause'],
  [{ duration: '8h', reason: 'a\nb' }, 'pausedBy and reason of a pause'],
])('a pause of %j is refused', async (options, message) => {
  const { table } = typeOrmLockProvider(await openMemory())
  await expect(table.pause('job', options)).rejects.toEqual(lockError('INVALID_CONFIGURATION', message))
})

it('the release of a lock with an invalid time is refused', async () => {
  const { table } = typeOrmLockProvider(await openMemory())
  for (const lockUntil of [new Date(NaN), 'soon', 0] as Date[])
    await expect(table.release({ name: 'job', lockedBy: 'x', lockUntil })).rejects.toEqual(
      lockError('INVALID_CONFIGURATION'),
    )
})
