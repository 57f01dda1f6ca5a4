import { DataSource, type DataSourceOptions } from 'typeorm'
import { DataSource as DataSource03, type DataSourceOptions as DataSourceOptions03 } from 'typeorm-0.3'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { LockTableOptions } from '../../src/sql/internal'
import {
  createShedLockMigration,
  shedLockEntity,
  typeOrmLockProvider,
  type ShedLock,
} from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { itIf } from '../it-if'

/** What a migration of the app needs of either version. */
interface QueryRunner {
  query(text: string): Promise<unknown>
  renameTable(from: string, to: string): Promise<void>
}
type AnyDataSource = DataSource | DataSource03

const versions = {
  '1.x': (options: DataSourceOptions) => new DataSource(options),
  '0.3': (options: DataSourceOptions) => new DataSource03(options as DataSourceOptions03),
}

/** A migration of the app. */
const migration = (name: string, up: string, down: string) =>
  class {
    readonly name = name
    up = (queryRunner: QueryRunner): Promise<unknown> => queryRunner.query(up)
    down = (queryRunner: QueryRunner): Promise<unknown> => queryRunner.query(down)
  }
/** Made long after the lock table's date. */
const CreateOrders = migration(
  'CreateOrders1795000000000',
  'create table orders (id int primary key)',
  'drop table orders',
)
/** Makes the schema of the lock table. */
const CreateSchema = migration('CreateSchema1764547200000', 'create schema jobs', 'drop schema jobs')

/** As docs/tables.md has it. */
class RenameShedLock1795000000000 {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.renameTable('shedlock', 'job_locks')
  }
  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.renameTable('job_locks', 'shedlock')
  }
}

const job = { name: 'job', lockAtMostFor: '1h' }
const cases = availableBackends().flatMap((backend) =>
  (Object.keys(versions) as (keyof typeof versions)[]).map((version) => ({ backend, version })),
)

describeBackends(cases)('the table of TypeORM $version on $backend.name', ({ backend, version }) => {
  let database: TestDatabase
  let dataSource: AnyDataSource | undefined

  beforeEach(async () => {
    database = await backend.create()
    afterTest(() => database.drop())
  })

  afterEach(() => dataSource?.destroy())

  const connect = async (options: LockTableOptions, migrations: DataSourceOptions['migrations'] = []) => {
    dataSource = await versions[version]({
      ...database.typeOrm,
      logging: false,
      entities: [shedLockEntity({ ...options, dialect: backend.dialect })],
      migrations,
    }).initialize()
    return dataSource
  }

  const drift = async (connected: AnyDataSource): Promise<string[]> => {
    const { upQueries } = await connected.driver.createSchemaBuilder().log()
    return upQueries.map(({ query }) => query)
  }

  itIf(backend.dialect === 'postgres', 'PostgreSQL')(
    "is made in a schema that a migration of the app makes, with a date after that one's",
    async () => {
      const options = { schema: 'jobs' }
      class CreateShedLock1764547200001 extends createShedLockMigration(options) {
        override name = 'CreateShedLock1764547200001'
      }
      const connected = await connect(options, [CreateShedLock1764547200001, CreateSchema])
      await connected.runMigrations()
      expect(await typeOrmLockProvider(connected, options).table.check()).toEqual([])
      await connected.undoLastMigration()
      await connected.undoLastMigration()
    },
  )

  itIf(backend.dialect === 'postgres', 'PostgreSQL')(
    "is in the DataSource's own schema, for migration, provider and entity alike",
    async () => {
      const admin = await versions[version](database.typeOrm).initialize()
      await admin.query('create schema jobs')
      // The one that a provider without the schema would find.
      await admin.query(`create table shedlock (name text)`)
      await admin.destroy()
      dataSource = await versions[version]({
        ...database.typeOrm,
        ...{ schema: 'jobs', migrations: [createShedLockMigration()] },
        entities: [shedLockEntity({ dialect: backend.dialect })],
      }).initialize()
      await dataSource.runMigrations()
      const provider = typeOrmLockProvider(dataSource)
      expect(await provider.table.check()).toEqual([])
      await provider.lock(job)
      expect(await dataSource.getRepository<ShedLock>('ShedLock').find()).toMatchObject([{ name: 'job' }])
      expect(await drift(dataSource)).toEqual([])
      // What the options name wins.
      const findings = await typeOrmLockProvider(dataSource, { schema: 'public' }).table.check()
      expect(findings[0]).toMatchObject({ message: expect.stringContaining("'public.shedlock'") })
      await dataSource.undoLastMigration()
      await expect(provider.lock(job)).rejects.toMatchObject({
        code: 'TABLE_MISSING',
        message: expect.stringContaining("'jobs.shedlock'"),
      })
    },
  )

  // In a database in memory another DataSource has another database.
  itIf(backend.shared, 'several connections')('can be renamed by a migration, with its locks', async () => {
    const before = await connect({}, [createShedLockMigration()])
    await before.runMigrations()
    await typeOrmLockProvider(before).lock(job)
    const rows: unknown[] = await before.query('select * from shedlock')
    const renamed = { tableName: 'job_locks' }
    await before.destroy()
    // As if the name alone were changed.
    const after = await connect(renamed, [createShedLockMigration(renamed)])
    expect(await after.runMigrations()).toEqual([])
    await expect(typeOrmLockProvider(after, renamed).lock(job)).rejects.toMatchObject({
      code: 'TABLE_MISSING',
      message: expect.stringContaining('set tableName to that name, or rename the table'),
    })
    await after.destroy()
    const right = await connect(renamed, [createShedLockMigration(), RenameShedLock1795000000000])
    expect(await right.runMigrations()).toHaveLength(1)
    expect(await typeOrmLockProvider(right, renamed).table.check()).toEqual([])
    expect(await right.query('select * from job_locks')).toEqual(rows)
    expect(await drift(right)).toEqual([])
    await right.undoLastMigration()
    expect(await typeOrmLockProvider(right).table.find('job')).toMatchObject({ held: true })
  })

  // What lives in memory is gone with its connection.
  itIf(backend.shared, 'several connections')(
    'stands beside migrations that were run before it was added',
    async () => {
      const before = await connect({}, [CreateOrders])
      await before.runMigrations()
      await before.destroy()
      const connected = await connect({}, [CreateOrders, createShedLockMigration()])
      expect((await connected.runMigrations()).map(({ name }) => name)).toEqual([
        'CreateShedLock1735689600000',
      ])
    },
  )

  it('leaves a table that is there as it is', async () => {
    const connected = await connect({}, [createShedLockMigration()])
    const migration = new (createShedLockMigration())()
    await migration.up(connected.createQueryRunner())
    const provider = typeOrmLockProvider(connected)
    await provider.lock(job)

    await connected.runMigrations()
    expect(await provider.lock(job)).toBeUndefined()
  })

  const WRONG = [
    [
      'would not lock',
      'name varchar(64) primary key, holder int',
      { message: expect.stringMatching(/lock_until/i) },
    ],
    [
      'has a wrong type',
      'name varchar(64) primary key, lock_until timestamptz, locked_at timestamptz, locked_by text',
      { code: 'TABLE_MISMATCH' },
    ],
  ] as const
  it.each(WRONG.slice(0, backend.dialect === 'postgres' ? 2 : 1))(
    'is refused when a table of that name %s',
    async (_, columns, error) => {
      const connected = await connect({}, [createShedLockMigration()])
      await connected.query(`create table shedlock (${columns})`)
      await expect(connected.runMigrations()).rejects.toMatchObject(error)
      expect(await connected.query('select * from shedlock')).toEqual([])
    },
  )
})
