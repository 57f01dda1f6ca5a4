import type { DataSource } from 'typeorm'
import { beforeEach, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { executeOnce } from '../../src/core/execute-once'
import type { TaskFinishedEvent } from '../../src/core/listener'
import type { Task } from '../../src/core/lock'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { dialects, DriverError, SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { sqliteClient } from '../../src/typeorm/sqlite-client'
import { migrated, openMemory } from '../backends/open-database'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { lockRow } from './lock-row'
import { UnreliableClient } from '../unreliable-client'

const SLOT = Date.UTC(2026, 10, 21, 10)

let dataSource: DataSource
let provider: SqlLockProvider

beforeEach(async () => {
  dataSource = await openMemory(migrated())
  provider = typeOrmLockProvider(dataSource)
})

it('a task that succeeds is run once for each slot, by one of many instances', async () => {
  let runs = 0
  const migrate = (slot?: number) => executeOnce(provider, { name: 'migrate', slot }, () => ++runs)
  const results = await Promise.all([migrate(SLOT), migrate(SLOT), migrate(SLOT)])
  expect(runs).toBe(1)
  const [ran, ...others] = [...results].sort((one, other) => Number(other.executed) - Number(one.executed))
  expect(ran).toEqual({ executed: true, value: 1 })
  expect(others).toEqual(Array(2).fill({ executed: false, reason: 'already-run' }))
  expect((await migrate(SLOT - 1_000)).executed).toBe(false)
  expect(await migrate(SLOT + 1_000)).toEqual({ executed: true, value: 2 })
  expect(await provider.table.list()).toHaveLength(1)
  // Without a slot nobody knows that it was done.
  expect(await migrate()).toEqual({ executed: true, value: 3 })
})

it('waits for the database, but does not repeat a task for whose errors it looks', async () => {
  const client = new UnreliableClient(sqliteClient(dataSource))
  const late = new SqlLockProvider(client, dialects.sqlite, { timeLimit: 20 })
  client.fault = 'no connection'
  let runs = 0
  const away = new LockError('DATABASE_ERROR', 'the database is away')
  const listeners = [{ onLockFailed: () => void (client.fault = undefined) }]
  const once = executeOnce(late, { name: 'migrate', listeners }, () => {
    runs++
    throw away
  })
  await expect(once).rejects.toBe(away)
  expect(runs).toBe(1)
  client.fault = 'no connection'
  const without = executeOnce(late, { name: 'migrate', wait: 0 }, () => runs++)
  await expect(without).rejects.toEqual(lockError('DATABASE_ERROR'))
})

it('a task that fails is run again, by the next instance that waits', async () => {
  const warning = jest.spyOn(process, 'emitWarning')
  const failure = new Error('the migration failed')
  let runs = 0
  const outcomes: string[] = []
  const listeners = [{ onTaskFinished: ({ outcome }: TaskFinishedEvent) => outcomes.push(outcome) }]
  const migrate = () =>
    executeOnce(provider, { name: 'migrate', slot: SLOT, listeners }, () => {
      if (++runs === 1) throw failure
      return runs
    })
  const results = await Promise.allSettled([migrate(), migrate()])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(results).toContainEqual({ status: 'rejected', reason: failure })
  expect(results).toContainEqual({ status: 'fulfilled', value: { executed: true, value: 2 } })
  expect(outcomes).toEqual(['failed', 'succeeded'])
  expect(warning).not.toHaveBeenCalled()
})

it('a task that lost its lock does not count as done, and a warning reports that', async () => {
  const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
  const migrate = (task: Task<unknown>) => executeOnce(provider, { name: 'migrate', slot: SLOT }, task)
  const lost = migrate(async ({ lock }) => {
    await provider.table.release(await lockRow(provider, 'migrate'))
    await lock.extend('1m').catch(() => undefined)
  })
  expect((await lost).executed).toBe(true)
  expect(warning.mock.calls).toEqual([
    [lockError('LOCK_LOST', 'The task outlived its lock')],
    [expect.stringMatching(/^'migrate' was done, but its lock was lost before/)],
  ])
  expect((await migrate(() => undefined)).executed).toBe(true)
})

it('a success is recorded again if its release got no answer', async () => {
  const network = new UnreliableClient(sqliteClient(dataSource))
  let losses = 0
  network.fault = (send, _, { unlockedBy }) =>
    unlockedBy !== undefined && ++losses <= 2
      ? Promise.reject(new DriverError(undefined, 'the connection broke'))
      : send()
  const unreliable = new SqlLockProvider(network, dialects.sqlite)
  const migrate = () => executeOnce(unreliable, { name: 'migrate', slot: SLOT }, () => 'done')
  expect(await migrate()).toEqual({ executed: true, value: 'done' })
  expect(losses).toBeGreaterThan(2)
  expect(await migrate()).toEqual({ executed: false, reason: 'already-run' })
})

it('a task that succeeded after its lease counts as done if no other run has started since', async () => {
  const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
  const configuration = { name: 'migrate', slot: SLOT, lockAtMostFor: 50, keepAlive: false }
  const migrate = () =>
    executeOnce(provider, configuration, async () => {
      await eventually(async () =>
        expect((await provider.table.find('migrate'))?.lastRun).toMatchObject({ outcome: 'died' }),
      )
    })
  expect((await migrate()).executed).toBe(true)
  expect(warning).toHaveBeenCalledTimes(2)
  expect(await migrate()).toEqual({ executed: false, reason: 'already-run' })
})

it('runs at once inside a task that holds the same lock for the same slot', async () => {
  const executor = new LockingTaskExecutor(provider, { defaultLockAtMostFor: '1m' })
  const migrate = () => executeOnce(provider, { name: 'migrate', slot: SLOT }, () => 'done')
  const result = await executor.executeWithLock({ name: 'migrate', slot: SLOT }, migrate)
  expect(result).toEqual({ executed: true, value: { executed: true, value: 'done' } })
  // The lock around it was not acquired for this slot, so nothing shows whether the slot has succeeded.
  const refused = executor.executeWithLock({ name: 'migrate' }, migrate)
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
  // And the other way round.
  const executed = executor.executeWithLock.bind(executor)
  const other = () => executed({ name: 'other' }, () => 'done')
  expect(await executeOnce(provider, { name: 'other' }, other)).toMatchObject({ value: { value: 'done' } })
})

it('throws without a name, if it waited in vain, or if its signal aborts', async () => {
  await provider.lock({ name: 'migrate', lockAtMostFor: '1m' })
  const task = () => undefined
  await expect(executeOnce(provider, {} as never, task)).rejects.toEqual(lockError('INVALID_CONFIGURATION'))
  const inVain = executeOnce(provider, { name: 'migrate', wait: '1ms' }, task)
  await expect(inVain).rejects.toEqual(lockError('SKIPPED'))
  const drain = jest.spyOn(provider, 'drain')
  const signal = AbortSignal.timeout(20)
  await expect(executeOnce(provider, { name: 'migrate', signal }, task)).rejects.toBeInstanceOf(LockError)
  const wrong = { name: 'fresh', slot: Date.now() + 120_000 }
  await expect(executeOnce(provider, wrong, task)).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
  await expect(executeOnce(provider, { name: 'migrate', wait: 20 }, task)).rejects.toBeInstanceOf(LockError)
  // That signal has ended its own run, and nothing of the provider, which others use.
  expect(drain).not.toHaveBeenCalled()
})
