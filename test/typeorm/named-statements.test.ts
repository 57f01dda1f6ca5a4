import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { assertLocked, LockingTaskExecutor, type Lock } from '../../src/core/internal'
import { isNotPrepared, MOST_PREPARED } from '../../src/drivers/statement-names'
import { guard, typeOrmLockProvider, type TypeOrmLockProviderOptions } from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase, type OpenDatabase } from '../backends/open-database'
import { hasPgBouncer, hasPreparingPgBouncer, startPgBouncer } from '../backends/pgbouncer'
import { address } from '../backends/server'
import { observeLockTable } from '../conformance/lock-table-observer'
import { itIf } from '../it-if'
import { Log } from './log'

const REFUSED =
  /^warn: shedlock-orm sends its statements without names from now on, because a name was refused: /

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
  /** Everything that is asked about one lock, twice; with a slot too. */
  const everyQuestion = async (provider = provide()): Promise<void> => {
    for (const withSlot of [false, true]) {
      const before = await table.findRow('job')
      const slot = withSlot && before ? before.lockedAt + 1 : undefined
      const lock = await provider.lock({ ...job, slot })
      expect(lock).toBeDefined()
      expect(await table.isHeld('job')).toBe(true)
      expect(await provider.lock({ ...job, slot })).toBeUndefined()
      await lock?.extend('20m')
      expect(await lock?.fencingToken()).toBe((await table.findRow('job'))?.lockedAt)
      await lock?.unlock()
      expect(await table.isHeld('job')).toBe(false)
    }
  }

  it('are prepared once for each kind of statement', async () => {
    const provider = provide()
    await everyQuestion(provider)
    const names = await prepared()
    expect(names.length).toBeGreaterThanOrEqual(5)
    await everyQuestion(provider)
    expect((await prepared()).toSorted()).toEqual(names.toSorted())
    expect(warnings.seen).toEqual([])
  })

  it('stop being named at a limit for each connection, for example with a table for each tenant', async () => {
    const tables = Array.from({ length: 20 }, (_, index) => `tenant_${index}`)
    for (const tableName of tables) {
      await observeLockTable(observer, backend.dialect, { tableName }).createTable()
      for (let time = 0; time < 2; time++) {
        const lock = await provide({ tableName }).lock(job)
        expect(await provide({ tableName }).lock(job)).toBeUndefined()
        await lock?.extend('20m')
        await lock?.unlock()
      }
    }
    const names = await prepared()
    expect(names).toHaveLength(MOST_PREPARED)
    for (const name of names) expect(name).toMatch(/^shedlock_[0-9a-f]{16}$/)
    // Each connection has its own.
    const another = await open()
    await (await typeOrmLockProvider(another).lock(job))?.unlock()
    expect(await prepared(another)).toHaveLength(2)
    expect(warnings.seen).toEqual([])
  })

  it.each(['DISCARD ALL', 'DEALLOCATE ALL'])(
    'are sent without names after %s, and one warning is logged',
    async (statement) => {
      const provider = provide()
      await everyQuestion(provider)
      await dataSource.query(statement)
      await everyQuestion(provider)
      await everyQuestion(provider)
      expect(warnings.seen).toEqual([expect.stringMatching(REFUSED)])
      expect(await prepared()).toEqual([])
    },
  )

  it('are sent without names whichever of them the server has forgotten', async () => {
    const questions: ((lock: Lock) => Promise<unknown>)[] = [
      async (lock) => {
        await lock.extend('20m')
        await lock.unlock()
      },
      async (lock) => {
        expect(await lock.fencingToken()).toBeGreaterThan(0)
        await lock.unlock()
      },
      (lock) => lock.unlock(),
    ]
    for (const question of questions) {
      const provider = provide()
      await everyQuestion(provider)
      const lock = await provider.lock(job)
      if (!lock) throw new Error('the lock was held')
      await dataSource.query('deallocate all')
      await question(lock)
      expect(await table.isHeld('job')).toBe(false)
    }
    expect(warnings.seen).toHaveLength(questions.length)
  })

  it.each([
    ['altered', 'alter table shedlock alter locked_by type text, alter lock_until type timestamp'],
    ['given another column', 'alter table shedlock add column more int'],
    ['analysed', 'analyze shedlock'],
  ])('keep their names after the table was %s', async (_, statement) => {
    const provider = provide()
    await everyQuestion(provider)
    await observer.query(statement)
    await everyQuestion(provider)
    expect(warnings.seen).toEqual([])
  })

  it('count as refused if the client itself refuses them, because each text begins with a comment of its own', async () => {
    const queryRunner = dataSource.createQueryRunner()
    const client = (await queryRunner.connect()) as { query(statement: object): Promise<unknown> }
    await client.query({ name: 'shedlock_one', text: '/* request 1 */ select 1' })
    const again = client.query({ name: 'shedlock_one', text: '/* request 2 */ select 1' })
    const error: unknown = await again.catch((thrown: unknown) => thrown)
    await queryRunner.release()
    expect(error).toMatchObject({ message: expect.stringContaining('must be unique') as unknown })
    expect(isNotPrepared(error)).toBe(true)
  })

  it('count as refused if the server planned them for another result', async () => {
    const queryRunner = dataSource.createQueryRunner()
    const client = (await queryRunner.connect()) as { query(statement: object): Promise<unknown> }
    const ask = () => client.query({ name: 'shedlock_all', text: 'select * from shedlock' })
    await ask()
    await observer.query('alter table shedlock alter locked_by type text')
    const error = await ask().catch((thrown: unknown) => thrown)
    await queryRunner.release()
    expect(error).toMatchObject({ code: '0A000' })
    expect(isNotPrepared(error)).toBe(true)
    expect(isNotPrepared({ ...(error as object), routine: 'another' })).toBe(false)
  })

  it('have no names in the guard, because a forgotten name would abort its transaction', async () => {
    const executor = new LockingTaskExecutor(provide())
    const pool = await open({ poolSize: 2 })
    await executor.executeWithLock(job, () =>
      pool.transaction(async (manager) => {
        await guard(manager)
        await manager.query('deallocate all')
        await guard(manager)
        expect(await manager.query('select name from pg_prepared_statements')).toEqual([])
        assertLocked()
      }),
    )
  })

  it('have no names on a connection that shows nothing of pg, such as that of Aurora', async () => {
    const createQueryRunner = () => {
      const queryRunner = dataSource.createQueryRunner()
      return {
        connect: () => Promise.resolve(undefined),
        query: queryRunner.query.bind(queryRunner),
        release: queryRunner.release.bind(queryRunner),
      }
    }
    const aurora = Object.assign(Object.create(dataSource) as DataSource, { createQueryRunner })
    await everyQuestion(typeOrmLockProvider(aurora))
    expect(await prepared()).toEqual([])
  })

  it('have no names with namedStatements: false', async () => {
    await everyQuestion(provide({ namedStatements: false }))
    expect(await prepared()).toEqual([])
    expect(() => provide({ namedStatements: 'no' as never })).toThrow('namedStatements must be true or false')
  })

  const throughPooler = async (
    settings: Record<string, number>,
    work: (pools: readonly DataSource[]) => Promise<void>,
  ): Promise<void> => {
    const pooler = await startPgBouncer(opened.database.url, settings)
    afterTest(() => pooler.stop())
    const pools: DataSource[] = []
    while (pools.length < 2) pools.push(await open({ ...address(pooler.url), poolSize: 3 }))
    await work(pools)
  }
  /** Two processes and many locks at a time, so that each connection of a client meets many of the server. */
  const crowd = async (pools: readonly DataSource[]): Promise<void> => {
    const providers = pools.map((pool) => typeOrmLockProvider(pool))
    for (let round = 0; round < 5; round++) {
      const won = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const name = `job ${index % 4}`
          const lock = await providers[index % 2]?.lock({ ...job, name })
          await lock?.extend('20m')
          return lock && { name, lock }
        }),
      )
      const locks = won.filter((each) => each !== undefined)
      expect(new Set(locks.map(({ name }) => name)).size).toBe(4)
      expect(locks).toHaveLength(4)
      for (const { lock } of locks) await lock.unlock()
    }
  }

  itIf(hasPgBouncer, 'pgbouncer')(
    'are sent without names behind PgBouncer in transaction mode, and each client logs one warning',
    () =>
      throughPooler(
        { default_pool_size: 2, ...(hasPreparingPgBouncer && { max_prepared_statements: 0 }) },
        async (pools) => {
          await crowd(pools)
          expect(warnings.seen).toEqual([expect.stringMatching(REFUSED), expect.stringMatching(REFUSED)])
        },
      ),
  )

  itIf(hasPreparingPgBouncer, 'PgBouncer 1.21 or later, such as PGBOUNCER names')(
    'keep their names behind PgBouncer with max_prepared_statements',
    () =>
      throughPooler({ default_pool_size: 2, max_prepared_statements: 20 }, async (pools) => {
        await crowd(pools)
        expect(warnings.seen).toEqual([])
        await pools[0]?.query('DISCARD ALL')
        await pools[0]?.query('DEALLOCATE ALL')
        await crowd(pools)
        expect(warnings.seen.length).toBeLessThanOrEqual(1)
      }),
  )
})
