import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DataSource, EntityManager } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { guard, typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterFile } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { renameTable } from '../backends/rename-table'
import { guardCases, guardSteps, type GuardedClient } from '../conformance/guard-cases'
import { itIf } from '../it-if'

const LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const
/** How a transaction fails that sees an old row at one of these levels; elsewhere, and at the others, it sees the new one. */
const SERIALIZES: Readonly<Record<string, { levels: RegExp; code: string }>> = {
  postgres: { levels: /REPEATABLE READ|SERIALIZABLE/, code: '40001' },
  oracle: { levels: /SERIALIZABLE/, code: 'ORA-08177' },
}

describeBackends(availableBackends())('guard on $name', (backend) => {
  const { dialect, shared } = backend
  let dataSource: DataSource
  let other: DataSource
  let client: GuardedClient

  beforeAll(async () => {
    const opened = await openDatabase(backend, migrated(), afterFile)
    dataSource = opened.dataSource
    other = shared ? await opened.connect() : dataSource
    await dataSource.query('create table work (step varchar(64))')
    client = {
      createProvider: (options) => typeOrmLockProvider(dataSource, options),
      createOther: (options) => typeOrmLockProvider(other, options),
      transaction: (work, level) => {
        const run = (manager: EntityManager) =>
          work({ guard: (lock) => guard(manager, lock), query: (sql) => manager.query(sql) })
        return level === undefined
          ? dataSource.transaction(run)
          : dataSource.transaction(level as (typeof LEVELS)[number], run)
      },
      query: (sql) => other.query(sql),
    }
  })

  const levels = LEVELS.filter((level) => dialect !== 'oracle' || level !== 'REPEATABLE READ')
  guardCases(() => client, {
    ...{ dialect, shared, letsWait: shared, levels: shared && dialect !== 'sqlite' ? levels : [] },
    failure: (level) => {
      const { levels, code } = SERIALIZES[dialect] ?? {}
      return levels?.test(level) ? { driverError: { code } } : undefined
    },
  })
  const { work, worked, taken, steal, untilOver, expectFree } = guardSteps(() => client, dialect)

  it('takes a query runner and an extended lock as well', async () => {
    const lock = await taken()
    await lock.extend('2m')
    const queryRunner = dataSource.createQueryRunner()
    await queryRunner.startTransaction()
    await work(queryRunner.manager)
    await guard(queryRunner, lock)
    await queryRunner.commitTransaction()
    await queryRunner.release()
    expect(await worked()).toBe(1)
    await lock.unlock()
  })

  // Where guard writes nothing to the row, or a file has one writer, the release ends or fails in another way.
  itIf(shared && dialect !== 'sqlite', 'several connections that write')(
    'is named where it makes a release time out',
    async () => {
      const provider = client.createProvider({ timeLimit: '300ms' })
      await dataSource.transaction(async (manager) => {
        const lock = await provider.lock({ name: 'outlived', lockAtMostFor: '1m' })
        assert(lock)
        await guard(manager, lock)
        await expect(lock.unlock()).rejects.toMatchObject({
          code: 'TIMEOUT',
          message: expect.stringContaining('a transaction with a guard of this lock is still open'),
        })
      })
    },
  )

  it('refuses to work without a transaction', async () => {
    const lock = await taken()
    await expect(guard(dataSource.manager, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    const queryRunner = dataSource.createQueryRunner()
    await expect(guard(queryRunner, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    await queryRunner.release()
    await lock.unlock()
  })

  it('distinguishes a failure of the database from a lost lock', async () => {
    const lock = await taken()
    await dataSource.query(renameTable(dialect, 'shedlock', 'moved'))
    try {
      const transaction = dataSource.transaction((manager) => guard(manager, lock))
      await expect(transaction).rejects.toMatchObject({ code: 'DATABASE_ERROR', lockName: 'job' })
    } finally {
      await dataSource.query(renameTable(dialect, 'moved', 'shedlock'))
    }
  })

  it('keeps the outcome of a task that ends before its pin, and frees the lock afterwards', async () => {
    const failures: unknown[] = []
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '2s' })
    const executor = new LockingTaskExecutor(provider, {
      listeners: [{ onUnlockFailed: ({ error }) => failures.push(error) }],
    })
    // The wrong way round: the lock inside of the transaction, so that its unlock waits for the commit.
    const queryRunner = dataSource.createQueryRunner()
    const lock = await provider.lock({ name: 'outer', lockAtMostFor: '1m' })
    if (!lock) throw new Error('The lock is not free.')
    const executed = executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, async () => {
      await queryRunner.startTransaction()
      await work(queryRunner.manager)
      await guard(queryRunner)
      return 'kept'
    })
    expect(await executed).toEqual({ executed: true, value: 'kept' })
    expect(failures).toMatchObject([{ code: 'TIMEOUT' }])
    await queryRunner.commitTransaction()
    await queryRunner.release()
    expect(await worked()).toBe(1)
    await expectFree()
  })

  itIf(shared, 'several connections')(
    'lets a successor give up in time when the transaction outlasts the lease',
    async () => {
      const lock = await taken(2_000)
      await dataSource.transaction(async (manager) => {
        await guard(manager, lock)
        await untilOver(manager)
        const state = { waiting: true }
        const impatient = typeOrmLockProvider(other, { timeLimit: '300ms' })
        const successor = impatient
          .lock({ name: 'job', lockAtMostFor: '1m' })
          .finally(() => (state.waiting = false))
        const stayOpen = async (): Promise<void> => {
          while (state.waiting) {
            await manager.query('select 1')
            await sleep(20)
          }
        }
        await Promise.all([expect(successor).rejects.toMatchObject({ code: 'TIMEOUT' }), stayOpen()])
      })
      await expectFree()
    },
  )

  itIf(shared && dialect === 'sqlite', 'SQLite in a file')(
    'never commits what was lost after the snapshot of a write-ahead log',
    async () => {
      await dataSource.query('pragma journal_mode = wal')
      const lock = await taken()
      const transaction = dataSource.transaction(async (manager) => {
        await manager.query('select * from work')
        await steal()
        await guard(manager, lock)
      })
      await expect(transaction).rejects.toMatchObject({ driverError: { code: 'SQLITE_BUSY_SNAPSHOT' } })
      const again = dataSource.transaction((manager) => guard(manager, lock))
      await expect(again).rejects.toMatchObject({ code: 'LOCK_LOST' })
    },
  )

  itIf(dialect === 'postgres', 'PostgreSQL')("leaves the session's own timeout alone", async () => {
    const lock = await taken()
    const queryRunner = dataSource.createQueryRunner()
    const timeout = async (): Promise<unknown> =>
      queryRunner.query('show idle_in_transaction_session_timeout')
    await queryRunner.query("set idle_in_transaction_session_timeout = '7s'")
    await queryRunner.startTransaction()
    await guard(queryRunner, lock)
    expect(await timeout()).toEqual([{ idle_in_transaction_session_timeout: '7s' }])
    await queryRunner.commitTransaction()
    await queryRunner.query("set idle_in_transaction_session_timeout = '2min'")
    await queryRunner.startTransaction()
    await guard(queryRunner, lock)
    expect(await timeout()).not.toEqual([{ idle_in_transaction_session_timeout: '2min' }])
    await queryRunner.commitTransaction()
    expect(await timeout()).toEqual([{ idle_in_transaction_session_timeout: '2min' }])
    await queryRunner.query('reset idle_in_transaction_session_timeout')
    await queryRunner.release()
  })
})
