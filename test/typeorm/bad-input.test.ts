import { DataSource } from 'typeorm'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { LockError, LockingTaskExecutor } from '../../src/core/internal'
import type { LockTableOptions } from '../../src/sql/internal'
import { createShedLockMigration, typeOrmLockProvider, type DataSourceLike } from '../../src/typeorm/internal'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { openDatabase } from '../backends/open-database'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'

const job = { name: 'job', lockAtMostFor: '10m' }

describe('typeOrmLockProvider', () => {
  const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'postgres://…'],
    ['options of a DataSource', { type: 'postgres' }],
    ['an EntityManager', dataSource.manager],
  ])('refuses %s for a DataSource', (_, wrong) => {
    expect(() => typeOrmLockProvider(wrong as DataSourceLike)).toThrow(
      lockError('INVALID_CLIENT', /DataSource/),
    )
  })

  it('refuses a database that has no dialect', () => {
    const mongodb: DataSourceLike = {
      isInitialized: true,
      options: { type: 'mongodb' },
      driver: {},
      createQueryRunner: () => dataSource.createQueryRunner(),
    }
    expect(() => typeOrmLockProvider(mongodb)).toThrow(
      lockError('INVALID_CLIENT', /type 'mongodb' cannot keep locks – supported are .*postgres/),
    )
  })

  it.each<[string, object, RegExp]>([
    ['an unknown dialect', { dialect: 'foxpro' }, /There is no dialect 'foxpro'/],
    ['an empty table name', { tableName: '' }, /tableName is empty/],
    ['a table name with a zero', { tableName: 'a\0b' }, /tableName .* contains control characters/],
    ['a table name that is too long', { tableName: 'x'.repeat(300) }, /tableName .* is longer than/],
    ['a table name that is no text', { tableName: 7 }, /tableName/],
    ['one name for two columns', { columnNames: { name: 'lock_until' } }, /one name for two columns/],
    ['a time limit of 0', { timeLimit: 0 }, /timeLimit is 0/],
    ['a time limit that cannot be read', { timeLimit: 'soon' }, /timeLimit is 'soon'/],
  ])('refuses %s', (_, options, message) => {
    expect(() => typeOrmLockProvider(dataSource, options)).toThrow(
      lockError('INVALID_CONFIGURATION', message),
    )
  })

  it('refuses to be a migration without being called', async () => {
    const uncalled = new DataSource({
      type: 'better-sqlite3',
      database: ':memory:',
      migrations: [createShedLockMigration],
    })
    await expect(uncalled.initialize()).rejects.toThrow(
      lockError('INVALID_CONFIGURATION', /call it: migrations: \[createShedLockMigration\(\)\]/),
    )
  })
})

const TIME_WITH_ZONE: Readonly<Record<string, string>> = {
  postgres: 'timestamptz(3)',
  cockroachdb: 'timestamptz(3)',
}

describeBackends(availableBackends().filter(({ dialect }) => !['mssql', 'oracle'].includes(dialect)))(
  'TypeORM on $name',
  (backend) => {
    let database: TestDatabase
    let dataSource: DataSource
    beforeEach(async () => {
      ;({ database, dataSource } = await openDatabase(backend))
    })

    /** The error of a lock that is asked for, after seeing that its task is not run. */
    const refused = async (options: LockTableOptions = {}, on: DataSource = dataSource): Promise<unknown> => {
      let runs = 0
      const error: unknown = await new LockingTaskExecutor(typeOrmLockProvider(on, options))
        .executeWithLock(job, () => ++runs)
        .catch((reason: unknown) => reason)
      expect(runs).toBe(0)
      return error
    }
    const createTable = (columns: Readonly<Record<string, string>> = {}): Promise<unknown> => {
      const time = backend.dialect === 'postgres' ? 'timestamp(3)' : 'datetime(3)'
      const all = {
        name: 'varchar(64) primary key',
        lock_until: `${time} not null`,
        locked_at: `${time} not null`,
        locked_by: 'varchar(255) not null',
        ...columns,
      }
      const list = Object.entries(all).flatMap(([name, type]) => (type === '' ? [] : [`${name} ${type}`]))
      return dataSource.query(`create table shedlock (${list.join(', ')})`)
    }

    it('says that the DataSource is not initialised', async () => {
      const uninitialised = new DataSource(database.typeOrm)
      expect(await refused({}, uninitialised)).toEqual(
        lockError('INVALID_CLIENT', /not initialised, or was destroyed – await dataSource.initialize\(\)/),
      )
    })

    it('may be made before the DataSource is initialised', async () => {
      const later = new DataSource(database.typeOrm)
      const provider = typeOrmLockProvider(later)
      await createTable()
      await later.initialize()
      if (backend.shared) await (await provider.lock(job))?.unlock()
      await later.destroy()
    })

    it('says that the DataSource was destroyed while a lock that nobody awaits was under way', async () => {
      await createTable()
      const provider = typeOrmLockProvider(dataSource, { timeLimit: '1s' })
      await (await provider.lock(job))?.unlock()
      let isDestroyed = false
      // A busy machine may take longer to close the pool than a lock has time.
      const withReason = (error: unknown): unknown =>
        !isDestroyed && error instanceof LockError && error.code === 'TIMEOUT' ? undefined : error
      // More than the pool has connections.
      const forgotten = Array.from({ length: 30 }, (_, index) =>
        provider.lock({ ...job, name: `job ${index}` }).catch(withReason),
      )
      await dataSource.destroy()
      isDestroyed = true
      // As long as the pool is being closed, mysql2 says so itself.
      const closing = lockError('DATABASE_ERROR', /is closed|in closed state/)
      const destroyed = lockError('INVALID_CLIENT', /DataSource .* was destroyed/)
      for (const [index, result] of (await Promise.all(forgotten)).entries()) {
        if (!(result instanceof LockError)) continue
        expect(result.lockName).toBe(`job ${index}`)
        expect([closing, destroyed]).toContainEqual(result)
      }
    })

    it('says that the DataSource was destroyed, even with a lock in hand', async () => {
      await createTable()
      const provider = typeOrmLockProvider(dataSource)
      const lock = await provider.lock(job)
      await dataSource.destroy()
      const destroyed = lockError(
        'INVALID_CLIENT',
        /was destroyed – await dataSource.initialize\(\) before the first lock, and stop the jobs/,
      )
      await expect(provider.lock(job)).rejects.toThrow(destroyed)
      await expect(lock?.extend('1m')).rejects.toThrow(destroyed)
      await expect(lock?.unlock()).rejects.toThrow(destroyed)
    })

    it('says that there is no table', async () => {
      expect(await refused({ tableName: 'nowhere' })).toEqual(
        lockError('TABLE_MISSING', /no lock table 'nowhere' .* run the migration/),
      )
    })

    it.each(['name', 'lock_until', 'locked_at', 'locked_by'])(
      'says that column %s is missing',
      async (column) => {
        await createTable({ [column]: '', other: 'varchar(1)' })
        expect(await refused()).toEqual(
          lockError(
            'TABLE_MISMATCH',
            new RegExp(
              `'shedlock' has no column '${column}' – add it as '[^']+ not null', or correct columnNames`,
            ),
          ),
        )
      },
    )

    it('says that a column that was there is gone', async () => {
      await createTable()
      const provider = typeOrmLockProvider(dataSource)
      await (await provider.lock(job))?.unlock()
      await dataSource.query('alter table shedlock rename column locked_by to owner')
      await expect(provider.lock(job)).rejects.toThrow(lockError('TABLE_MISMATCH', /no column 'locked_by'/))
    })

    itIf(backend.dialect in TIME_WITH_ZONE, 'times with a zone')(
      'refuses a time with a zone, under which two could hold one lock',
      async () => {
        await createTable({ lock_until: `${TIME_WITH_ZONE[backend.dialect] ?? ''} not null` })
        expect(await refused()).toEqual(
          lockError('TABLE_MISMATCH', /'lock_until' .* type timestamp\(3\) with time zone/),
        )
      },
    )

    itIf(backend.dialect !== 'sqlite', 'columns that have one type')(
      'refuses a column of another type',
      async () => {
        await createTable({ locked_at: 'varchar(30) not null' })
        expect(await refused()).toEqual(
          lockError('TABLE_MISMATCH', /'locked_at' .* type (character varying|varchar)/),
        )
      },
    )
  },
)
