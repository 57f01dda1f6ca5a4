import { setTimeout as sleep } from 'node:timers/promises'
import type { DataSource, EntityManager } from 'typeorm'
import { beforeAll, expect, it, jest } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { guard } from '../../src/typeorm/guard'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterFile, afterTest } from '../after-test'
import { describeBackends, typeOrmBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { renameTable } from '../backends/rename-table'
import { guardCases, guardSteps, type GuardedClient } from '../conformance/guard-cases'
import { itIf, itOn } from '../it-if'
import { lockError } from '../lock-error'
import { blockRow } from '../sql/block-row'

const LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const
/** How a transaction fails that sees an old row at one of these levels; elsewhere, and at the others, it sees the new one. */
const SERIALIZES: Readonly<Record<string, { levels: RegExp; code: string }>> = {
  postgres: { levels: /REPEATABLE READ|SERIALIZABLE/, code: '40001' },
  oracle: { levels: /SERIALIZABLE/, code: 'ORA-08177' },
}

// sql.js lives in memory too, and has the same executor.
const backends = typeOrmBackends().filter(({ name }) => name !== 'sqlite-memory')

describeBackends(backends)('guard on $name', (backend) => {
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

  it('takes a query runner, and refuses to work without a transaction', async () => {
    const lock = await taken()
    const queryRunner = dataSource.createQueryRunner()
    for (const outside of [dataSource.manager, queryRunner])
      await expect(guard(outside, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    await lock.extend('2m')
    await queryRunner.startTransaction()
    await work(queryRunner.manager)
    await guard(queryRunner, lock)
    await queryRunner.commitTransaction()
    await queryRunner.release()
    expect(await worked()).toBe(1)
    await lock.unlock()
  })

  it('distinguishes a failure of the database from a lost lock', async () => {
    const lock = await taken()
    await dataSource.query(renameTable(dialect, 'shedlock', 'moved'))
    try {
      const transaction = dataSource.transaction((manager) => guard(manager, lock))
      const error = { code: 'DATABASE_ERROR', lockName: 'job', cause: expect.anything() }
      await expect(transaction).rejects.toMatchObject(error)
    } finally {
      await dataSource.query(renameTable(dialect, 'moved', 'shedlock'))
    }
  })

  itOn(
    backend,
    'mysql',
    'mariadb',
  )("is sent as the app's own statements are, unprepared, and fails with TypeORM's own error", async () => {
    const lock = await taken()
    const queryRunner = dataSource.createQueryRunner()
    afterTest(() => queryRunner.release())
    const prepares = jest.spyOn((await queryRunner.connect()) as { execute: () => unknown }, 'execute')
    await queryRunner.startTransaction()
    await guard(queryRunner, lock)
    await queryRunner.commitTransaction()
    expect(prepares).not.toHaveBeenCalled()
    await queryRunner.query('set innodb_lock_wait_timeout = 1')
    const unblock = await blockRow(other, 'job')
    await queryRunner.startTransaction()
    await expect(guard(queryRunner, lock)).rejects.toMatchObject({ driverError: { errno: 1205 } })
    await queryRunner.rollbackTransaction()
    await unblock()
    await lock.unlock()
  })

  it('keeps the outcome of a task that ends before its pin, and frees the lock afterwards', async () => {
    const failures: unknown[] = []
    const executor = new LockingTaskExecutor(typeOrmLockProvider(dataSource, { timeLimit: '2s' }), {
      listeners: [{ onUnlockFailed: ({ error }) => failures.push(error) }],
    })
    // The wrong way round: the lock inside of the transaction, so that its unlock waits for the commit.
    const queryRunner = dataSource.createQueryRunner()
    const executed = executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, async () => {
      await queryRunner.startTransaction()
      await work(queryRunner.manager)
      await guard(queryRunner)
      return 'kept'
    })
    expect(await executed).toEqual({ executed: true, value: 'kept' })
    // Where guard writes nothing to the row, or a file has one writer, the release ends or fails in another way.
    const why = shared && dialect !== 'sqlite' ? /a transaction with a guard of this lock is still open/ : ''
    expect(failures).toEqual([lockError('TIMEOUT', why)])
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
      // sqlite3 does not pass on SQLite's extended codes.
      const code = backend.name === 'sqlite3' ? 'SQLITE_BUSY' : 'SQLITE_BUSY_SNAPSHOT'
      await dataSource.query('pragma journal_mode = wal')
      const lock = await taken()
      const transaction = dataSource.transaction(async (manager) => {
        await manager.query('select * from work')
        await steal()
        await guard(manager, lock)
      })
      await expect(transaction).rejects.toMatchObject({ driverError: { code } })
      const again = dataSource.transaction((manager) => guard(manager, lock))
      await expect(again).rejects.toMatchObject({ code: 'LOCK_LOST' })
    },
  )

  itOn(backend, 'postgres')("leaves the session's own timeout alone", async () => {
    const lock = await taken()
    const queryRunner = dataSource.createQueryRunner()
    const timeout = async (): Promise<unknown> => {
      const [row] = (await queryRunner.query('show idle_in_transaction_session_timeout')) as object[]
      return Object.values(row ?? {})[0]
    }
    for (const [own, isShort] of [
      ['7s', true],
      ['2min', false],
    ]) {
      await queryRunner.query(`set idle_in_transaction_session_timeout = '${own}'`)
      await queryRunner.startTransaction()
      await guard(queryRunner, lock)
      // The guard shortens a long one until the transaction ends.
      expect((await timeout()) === own).toBe(isShort)
      await queryRunner.commitTransaction()
      expect(await timeout()).toBe(own)
    }
    await queryRunner.query('reset idle_in_transaction_session_timeout')
    await queryRunner.release()
  })
})
