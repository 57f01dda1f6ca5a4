import { DataSource } from 'typeorm'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { LockError, type SimpleLock, type Task } from '../../src/core'
import { executeOnce, type SqlLockProvider } from '../../src/sql'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { eventually } from '../eventually'

const SLOT = Date.UTC(2026, 10, 21, 10)

describeBackends(availableBackends())('on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource
  let provider: SqlLockProvider

  beforeEach(async () => {
    database = await backend.create()
    dataSource = await new DataSource(database.typeOrm).initialize()
    provider = typeOrmLockProvider(dataSource)
    await provider.createTable()
  })

  afterEach(async () => {
    await dataSource.destroy()
    await database.drop()
  })

  it('what succeeds is done once for each slot, by one of many', async () => {
    let runs = 0
    const migrate = (slot?: number) => executeOnce(provider, { name: 'migrate', slot }, () => ++runs)
    const results = await Promise.all([migrate(SLOT), migrate(SLOT), migrate(SLOT)])
    expect(runs).toBe(1)
    const [ran, ...others] = [...results].sort((one, other) => Number(other.executed) - Number(one.executed))
    expect(ran).toEqual({ executed: true, value: 1 })
    expect(others).toEqual(Array(2).fill({ executed: false, reason: 'already-run' }))
    expect((await migrate(SLOT - 1)).executed).toBe(false)
    expect(await migrate(SLOT + 1)).toEqual({ executed: true, value: 2 })
    // Without a slot nobody knows that it was done.
    expect(await migrate()).toEqual({ executed: true, value: 3 })
  })

  it('what fails is done again, by the next who waits', async () => {
    const failure = new Error('the migration failed')
    let runs = 0
    const migrate = () =>
      executeOnce(provider, { name: 'migrate', slot: SLOT }, () => {
        if (++runs === 1) throw failure
        return runs
      })
    const results = await Promise.allSettled([migrate(), migrate()])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(results).toContainEqual({ status: 'rejected', reason: failure })
    expect(results).toContainEqual({ status: 'fulfilled', value: { executed: true, value: 2 } })
  })

  it('what lost its lock does not count as done', async () => {
    const migrate = (task: Task<unknown>) => executeOnce(provider, { name: 'migrate', slot: SLOT }, task)
    const lost = migrate(async ({ lock }) => {
      const [row] = await provider.listLocks()
      await provider.releaseLock('migrate', String(row?.lockedBy))
      await lock.extend('1m').catch(() => undefined)
    })
    expect((await lost).executed).toBe(true)
    expect((await migrate(() => undefined)).executed).toBe(true)
  })
})

it('is done on an instance whose clock is wrong', async () => {
  const database = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
  const provider = typeOrmLockProvider(await database.initialize())
  await provider.createTable()
  const slot = Date.now()
  const clock = jest.spyOn(Date, 'now').mockReturnValue(slot - 7_200_000)
  try {
    const migrate = () => executeOnce(provider, { name: 'migrate', slot }, () => 'done')
    expect(await migrate()).toEqual({ executed: true, value: 'done' })
    expect(await migrate()).toEqual({ executed: false, reason: 'already-run' })
  } finally {
    clock.mockRestore()
    await database.destroy()
  }
})

it.each<[string, (lock: SimpleLock | undefined) => unknown]>([
  [
    'the answer took long',
    (lock) =>
      eventually(() => {
        expect(lock?.remaining() ?? 0).toBe(0)
      }),
  ],
  [
    'the process was blocked, so that no timer could tell',
    (lock) => {
      while ((lock?.remaining() ?? 0) > 0);
    },
  ],
])('does not begin when its lock expired before it knew that nobody has done it: %s', async (_, wait) => {
  const database = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
  const provider = typeOrmLockProvider(await database.initialize())
  await provider.createTable()
  let lock: SimpleLock | undefined
  const slow = {
    lock: async (...all: Parameters<SqlLockProvider['lock']>) => (lock = await provider.lock(...all)),
    listLocks: async () => {
      const rows = await provider.listLocks()
      await wait(lock)
      return rows
    },
  }
  let runs = 0
  const configuration = { name: 'migrate', slot: SLOT, lockAtMostFor: 50, keepAlive: false }
  await expect(executeOnce(slow, configuration, () => runs++)).rejects.toMatchObject({ code: 'LOCK_LOST' })
  expect(runs).toBe(0)
  await database.destroy()
})

it('throws when it waited in vain, or is told to stop', async () => {
  const database = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
  const provider = typeOrmLockProvider(await database.initialize())
  await provider.createTable()
  await provider.lock({ name: 'migrate', lockAtMostFor: '1m' })
  const task = () => undefined
  await expect(executeOnce(provider, { name: 'migrate', wait: '1ms' }, task)).rejects.toMatchObject({
    code: 'NOT_ACQUIRED',
  })
  const signal = AbortSignal.timeout(20)
  await expect(executeOnce(provider, { name: 'migrate', signal }, task)).rejects.toBeInstanceOf(LockError)
  const wrong = { name: 'migrate', slot: Date.now() + 7_200_000 }
  await expect(executeOnce(provider, wrong, task)).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
  await database.destroy()
})
