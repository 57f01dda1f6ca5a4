import assert from 'node:assert/strict'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import type { Lock } from '../../src/core/lock'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { guard } from '../../src/typeorm/guard'
import { typeOrmLockProvider, type TypeOrmLockProviderOptions } from '../../src/typeorm/typeorm-lock-provider'
import { MOST_PREPARED } from '../../src/drivers/statement-names'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { hasPgBouncer, hasPreparingPgBouncer, startPgBouncer } from '../backends/pgbouncer'
import { address } from '../backends/server'
import { everyQuestion } from '../conformance/every-question'
import { observeLockTable } from '../conformance/lock-table-observer'
import { itIf } from '../it-if'
import { Log } from './log'

const REFUSED =
  /^warn: shedlock-orm sends its statements without names from now on, because a prepared one was refused: /

const backends = availableBackends().filter(({ dialect }) => dialect === 'postgres')

describeBackends(backends)('the named statements on $name', (backend) => {
  const job = { name: 'job', lockAtMostFor: '10m' }
  let opened: OpenDatabase
  let observer: DataSource
  let dataSource: DataSource
  let table: ReturnType<typeof observeLockTable>
  let warnings: Log

  const open = (rest: object = {}): Promise<DataSource> =>
    opened.connect({ poolSize: 1, logger: warnings, logging: ['error', 'warn'], ...rest })

  beforeEach(async () => {
    opened = await openDatabase(backend)
    observer = opened.dataSource
    warnings = new Log(['error', 'warn'])
    table = observeLockTable(observer, backend.dialect)
    await table.createTable()
    dataSource = await open()
  })

  const provide = (options?: TypeOrmLockProviderOptions) => typeOrmLockProvider(dataSource, options)
  const prepared = async (session = dataSource): Promise<string[]> => {
    const rows = await session.query<{ name: string }[]>(
      `select name from pg_prepared_statements where name like 'shedlock%'`,
    )
    return rows.map(({ name }) => name)
  }

  it('are prepared once for each kind of statement, also after the table has changed', async () => {
    const provider = provide()
    await everyQuestion(provider, table)
    const names = await prepared()
    expect(names.length).toBeGreaterThanOrEqual(5)
    for (const change of [
      'alter table shedlock alter locked_by type text, alter lock_until type timestamp',
      'alter table shedlock add column more int',
      'analyze shedlock',
    ]) {
      await observer.query(change)
      await everyQuestion(provider, table)
    }
    expect((await prepared()).toSorted()).toEqual(names.toSorted())
    expect(warnings.seen).toEqual([])
  })

  it('stop being named at a limit for each connection, for example with a table for each tenant', async () => {
    for (let tenant = 0; tenant < 12; tenant++) {
      const tableName = `tenant_${tenant}`
      const ofTenant = observeLockTable(observer, backend.dialect, { tableName })
      await ofTenant.createTable()
      for (let time = 0; time < 2; time++) await everyQuestion(provide({ tableName }), ofTenant)
    }
    const names = await prepared()
    expect(names).toHaveLength(MOST_PREPARED)
    for (const name of names) expect(name).toMatch(/^shedlock_[0-9a-f]{16}$/)
    // Each connection has its own.
    const another = await open()
    await (await typeOrmLockProvider(another).lock(job))?.unlock()
    expect(await prepared(another)).toHaveLength(3)
    expect(warnings.seen).toEqual([])
  })

  it.each<[string, string, (lock: Lock) => Promise<unknown>]>([
    ['extension', 'deallocate all', (lock) => lock.extend('20m')],
    ['token', 'deallocate all', (lock) => lock.fencingToken()],
    ['release', 'discard all', () => Promise.resolve()],
  ])(
    'are sent without names when that of an %s is forgotten by %s, and one warning is logged',
    async (_, statement, question) => {
      const provider = provide()
      await everyQuestion(provider, table)
      const lock = await provider.lock(job)
      assert(lock)
      await dataSource.query(statement)
      await question(lock)
      await lock.unlock()
      await everyQuestion(provider, table)
      expect(warnings.seen).toEqual([expect.stringMatching(REFUSED)])
      expect(await prepared()).toEqual([])
    },
  )

  it('have no names in the guard, because a forgotten name would abort its transaction', async () => {
    const executor = new LockingTaskExecutor(provide())
    const pool = await open({ poolSize: 2 })
    await executor.executeWithLock(job, () =>
      pool.transaction(async (manager) => {
        await guard(manager)
        expect(await manager.query('select name from pg_prepared_statements')).toEqual([])
      }),
    )
  })

  it('have no names with namedStatements: false, nor where a connection shows nothing of pg, such as that of Aurora', async () => {
    await everyQuestion(provide({ namedStatements: false }), table)
    const createQueryRunner = () => {
      const queryRunner = dataSource.createQueryRunner()
      return {
        connect: () => Promise.resolve(undefined),
        query: queryRunner.query.bind(queryRunner),
        release: queryRunner.release.bind(queryRunner),
      }
    }
    const aurora = Object.assign(Object.create(dataSource) as DataSource, { createQueryRunner })
    await everyQuestion(typeOrmLockProvider(aurora), table)
    expect(await prepared()).toEqual([])
    expect(() => provide({ namedStatements: 'no' as never })).toThrow('namedStatements must be true or false')
  })

  /** Two processes and many locks at a time, so that each connection of a client meets many of the server. */
  const crowd = async (pools: readonly DataSource[]): Promise<void> => {
    const providers = pools.map((pool) => typeOrmLockProvider(pool))
    for (let round = 0; round < 5; round++) {
      const won = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const lock = await providers[index % 2]?.lock({ ...job, name: `job ${index % 4}` })
          await lock?.extend('20m')
          return lock
        }),
      )
      const locks = won.filter((lock) => lock !== undefined)
      expect(locks.map(({ name }) => name).sort()).toEqual(['job 0', 'job 1', 'job 2', 'job 3'])
      for (const lock of locks) await lock.unlock()
    }
  }

  const POOLERS = [
    ['keep their names', { max_prepared_statements: 20 }, 0],
    ['are sent without names', hasPreparingPgBouncer ? { max_prepared_statements: 0 } : {}, 2],
  ] as const
  for (const [title, settings, warned] of POOLERS)
    itIf(hasPgBouncer && (hasPreparingPgBouncer || warned > 0), 'pgbouncer, or 1.21 for names')(
      `${title} behind PgBouncer in transaction mode with ${JSON.stringify(settings)}`,
      async () => {
        const pooler = await startPgBouncer(opened.database.url, { default_pool_size: 2, ...settings })
        afterTest(() => pooler.stop())
        const pools: DataSource[] = []
        while (pools.length < 2) pools.push(await open({ ...address(pooler.url), poolSize: 3 }))
        await crowd(pools)
        // One of each client.
        expect(warnings.seen).toEqual(Array(warned).fill(expect.stringMatching(REFUSED)))
      },
    )
})
