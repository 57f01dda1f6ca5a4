import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource, type EntityManager } from 'typeorm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor, type Lock } from '../../src/core'
import { createShedLockMigration, guard, typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { renameTable } from '../backends/rename-table'
import { eventually } from '../eventually'
import { itIf } from '../it-if'

const LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const
/** How a transaction fails that sees an old row at one of these levels; elsewhere, and at the others, it sees the new one. */
const SERIALIZES: Readonly<Record<string, { levels: RegExp; code: string }>> = {
  postgres: { levels: /REPEATABLE READ|SERIALIZABLE/, code: '40001' },
  oracle: { levels: /SERIALIZABLE/, code: 'ORA-08177' },
}
const PAST: Readonly<Record<string, string>> = {
  oracle: "timestamp '2020-01-01 00:00:00'",
  others: "'2020-01-01 00:00:00.000'",
}

describeBackends(availableBackends())('guard on $name', (backend) => {
  const { dialect, shared } = backend
  let database: TestDatabase
  let dataSource: DataSource
  let other: DataSource

  beforeAll(async () => {
    database = await backend.create()
    const options = { ...database.typeOrm, migrations: [createShedLockMigration()] }
    dataSource = await new DataSource(options).initialize()
    await dataSource.runMigrations()
    other = shared ? await new DataSource(database.typeOrm).initialize() : dataSource
    await dataSource.query('create table work (step varchar(64))')
  })

  afterAll(async () => {
    await dataSource.destroy()
    if (shared) await other.destroy()
    await database.drop()
  })

  beforeEach(async () => {
    await dataSource.query('delete from work')
    await dataSource.query('delete from shedlock')
  })

  const work = (manager: EntityManager): Promise<unknown> => manager.query("insert into work values ('done')")
  const worked = async (): Promise<number> => (await dataSource.query<unknown[]>('select * from work')).length
  const taken = async (name: string, lockAtMostFor = 60_000): Promise<Lock> => {
    const lock = await typeOrmLockProvider(dataSource).lock({ name, lockAtMostFor })
    if (!lock) throw new Error('The lock is not free.')
    return lock
  }
  const steal = (): Promise<unknown> =>
    other.query("update shedlock set locked_by = 'somebody else' where name = 'job'")
  const expire = (): Promise<unknown> =>
    other.query(`update shedlock set lock_until = ${PAST[dialect] ?? PAST['others']} where name = 'job'`)

  it('lets a transaction commit under the active lock', async () => {
    const executor = new LockingTaskExecutor(typeOrmLockProvider(dataSource))
    const result = await executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, () =>
      dataSource.transaction(async (manager) => {
        await work(manager)
        await guard(manager)
      }),
    )
    expect(result.executed).toBe(true)
    expect(await worked()).toBe(1)
  })

  it('takes a query runner and an extended lock as well', async () => {
    const lock = await (await taken('job')).extend('2m')
    const queryRunner = dataSource.createQueryRunner()
    await queryRunner.startTransaction()
    await work(queryRunner.manager)
    await guard(queryRunner, lock)
    await queryRunner.commitTransaction()
    await queryRunner.release()
    expect(await worked()).toBe(1)
    await lock.unlock()
  })

  it.each([
    ['somebody else took the lock', steal],
    ['the lease is over, even if nobody took the lock', expire],
    ['the row was deleted', () => other.query('delete from shedlock')],
  ])('rolls the transaction back when %s', async (_, lose) => {
    const lock = await taken('job')
    await lose()
    const transaction = dataSource.transaction(async (manager) => {
      await work(manager)
      await guard(manager, lock)
    })
    await expect(transaction).rejects.toMatchObject({ code: 'LOCK_LOST', lockName: 'job' })
    expect(await worked()).toBe(0)
  })

  it('refuses to work without a lock, without a transaction, and with a lock that is not in SQL', async () => {
    const lock = await taken('job')
    const elsewhere = await new InMemoryLockProvider().lock({ name: 'job', lockAtMostFor: '1m' })
    await dataSource.transaction(async (manager) => {
      await expect(guard(manager)).rejects.toMatchObject({ code: 'NOT_LOCKED' })
      await expect(guard(manager, elsewhere)).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
    })
    await expect(guard(dataSource.manager, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    const queryRunner = dataSource.createQueryRunner()
    await expect(guard(queryRunner, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    await queryRunner.release()
    await lock.unlock()
  })

  it('tells a failure of the database from a lost lock', async () => {
    const lock = await taken('job')
    await dataSource.query(renameTable(dialect, 'shedlock', 'moved'))
    try {
      const transaction = dataSource.transaction((manager) => guard(manager, lock))
      await expect(transaction).rejects.toMatchObject({ code: 'DATABASE_ERROR', lockName: 'job' })
    } finally {
      await dataSource.query(renameTable(dialect, 'moved', 'shedlock'))
    }
  })

  it('keeps this lock busy, but never for ever, when its own task extends it inside of the pin', async () => {
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '2s' })
    const executor = new LockingTaskExecutor(provider)
    await executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, async ({ lock }) => {
      await dataSource.transaction(async (manager) => {
        await guard(manager)
        await expect(lock.extend('1m')).rejects.toMatchObject({ code: 'TIMEOUT' })
      })
      await lock.extend('1m')
    })
    await expectFree('job')
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
    await expectFree('job')
  })

  itIf(shared, 'several connections')('does not make others wait while the lock is held', async () => {
    const lock = await taken('job')
    const impatient = typeOrmLockProvider(other, { timeLimit: '10s' })
    await dataSource.transaction(async (manager) => {
      await guard(manager, lock)
      await expect(impatient.lock({ name: 'job', lockAtMostFor: '1m' })).resolves.toBeUndefined()
    })
    await lock.unlock()
  })

  itIf(shared, 'several connections')(
    'commits before its successor takes the lock, even if the lease ends in between',
    async () => {
      const lock = await taken('job', 2_000)
      const order: string[] = []
      const transaction = dataSource.transaction(async (manager) => {
        await work(manager)
        await guard(manager, lock)
        await untilOver(manager)
        // Long enough for a successor that is let through to be seen.
        for (let turn = 0; turn < 20; turn++) {
          await manager.query('select 1')
          await sleep(5)
        }
        order.push('still open')
      })
      const successor = whenTaken(typeOrmLockProvider(other)).then(() => order.push('taken'))
      await Promise.all([transaction, successor])
      expect(order).toEqual(['still open', 'taken'])
      expect(await worked()).toBe(1)
    },
  )

  itIf(shared, 'several connections')(
    'lets a successor give up in time when the transaction outlasts the lease',
    async () => {
      const lock = await taken('job', 2_000)
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
            await sleep(5)
          }
        }
        await Promise.all([expect(successor).rejects.toMatchObject({ code: 'TIMEOUT' }), stayOpen()])
      })
      await expectFree('job')
    },
  )

  const levels = LEVELS.filter((level) => dialect !== 'oracle' || level !== 'REPEATABLE READ')
  const eachLevel = shared && dialect !== 'sqlite' ? describe.each(levels) : describe.skip.each(levels)
  eachLevel('under %s', (level) => {
    const { levels, code } = SERIALIZES[dialect] ?? {}
    const serializes = levels?.test(level) ? code : undefined

    it.each([
      ['somebody else took the lock', steal],
      ['the lease ended', expire],
    ])('never commits when %s after the snapshot', async (_, lose) => {
      const lock = await taken('job')
      const transaction = dataSource.transaction(level, async (manager) => {
        await manager.query('select * from work')
        await work(manager)
        await lose()
        await guard(manager, lock)
      })
      await expect(transaction).rejects.toMatchObject(
        serializes ? { driverError: { code: serializes } } : { code: 'LOCK_LOST' },
      )
      expect(await worked()).toBe(0)
    })

    it('commits when the lock was extended after the snapshot, at the latest when it is run again', async () => {
      const lock = await taken('job')
      const attempt = (extend: () => Promise<unknown>) =>
        dataSource.transaction(level, async (manager) => {
          await manager.query('select * from work')
          await work(manager)
          await extend()
          await guard(manager, lock)
        })
      const first = attempt(() => lock.extend('2m'))
      if (serializes) {
        await expect(first).rejects.toMatchObject({ driverError: { code: serializes } })
        await attempt(() => Promise.resolve())
      } else {
        await first
      }
      expect(await worked()).toBe(1)
    })
  })

  itIf(shared && dialect === 'sqlite', 'SQLite in a file')(
    'never commits what was lost after the snapshot of a write-ahead log',
    async () => {
      await dataSource.query('pragma journal_mode = wal')
      const lock = await taken('job')
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

  itIf(dialect === 'postgres', 'PostgreSQL')(
    'does not let a process that went silent pin the lock',
    async () => {
      const lock = await taken('job', 2_000)
      const queryRunner = dataSource.createQueryRunner()
      await queryRunner.startTransaction()
      await work(queryRunner.manager)
      await guard(queryRunner, lock)
      await whenTaken(typeOrmLockProvider(other))
      await expect(queryRunner.commitTransaction()).rejects.toThrow()
      await queryRunner.release()
      expect(await worked()).toBe(0)
    },
  )

  itIf(dialect === 'postgres', 'PostgreSQL')("leaves the session's own timeout alone", async () => {
    const lock = await taken('job')
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

  /** By the clock that decides: the holder's own says so earlier, by the time that its acquisition took. */
  async function untilOver(manager: EntityManager): Promise<void> {
    const observer = typeOrmLockProvider(other)
    while ((await observer.listLocks()).some(({ name, held }) => name === 'job' && held)) {
      // PostgreSQL ends a pinned transaction that is idle for too long.
      await manager.query('select 1')
    }
  }

  async function whenTaken(provider: ReturnType<typeof typeOrmLockProvider>): Promise<Lock> {
    for (;;) {
      const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
      if (lock) return lock
      await sleep(5)
    }
  }

  async function expectFree(name: string): Promise<void> {
    const provider = typeOrmLockProvider(dataSource)
    await eventually(async () => {
      expect(await provider.lock({ name, lockAtMostFor: '1m' })).toBeDefined()
    })
  }
})
