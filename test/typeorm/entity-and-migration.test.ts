import { DataSource, DefaultNamingStrategy, type DataSourceOptions, type QueryRunner } from 'typeorm'
import { DataSource as DataSource03, type DataSourceOptions as DataSourceOptions03 } from 'typeorm-0.3'
import { beforeEach, expect, it } from '@jest/globals'
import type { LockTableOptions } from '../../src/sql/names'
import { shedLockEntity, type ShedLock } from '../../src/typeorm/entity'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, typeOrmBackends, type TestDatabase } from '../backends'
import { openDatabase, openMemory, useDatabase } from '../backends/open-database'
import { itIf, itOn } from '../it-if'
import { lockError } from '../lock-error'

type AnyDataSource = DataSource | DataSource03

const versions = {
  '1.x': (options: DataSourceOptions) => new DataSource(options),
  '0.3': (options: DataSourceOptions) => new DataSource03(options as DataSourceOptions03),
}

/** Leaves names that were given, as typeorm-naming-strategies does. */
class SnakeCase extends DefaultNamingStrategy {
  override columnName(property: string, given: string | undefined): string {
    return given ?? property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  }
}

/** Changes names that were given. */
class Prefixes extends DefaultNamingStrategy {
  override tableName(target: string, given: string | undefined): string {
    return `t_${given ?? target}`
  }
  override columnName(property: string, given: string | undefined): string {
    return `c_${given ?? property}`
  }
  override prefixTableName(prefix: string, tableName: string): string {
    return `${prefix}__${tableName}`
  }
}

/** Of a DataSource; a schema is one of the test's own. */
interface Case {
  readonly source?: { readonly entityPrefix?: string; readonly namingStrategy?: DefaultNamingStrategy }
  readonly tables: readonly LockTableOptions[]
}

const SECOND = { tableName: 'ReportLocks', columnNames: { name: 'jobName', lockUntil: 'until' } }
const OPS = { schema: 'shedlock_ops' }
const ALL = [{}, SECOND, OPS, { ...OPS, ...SECOND }]

const CASES: Readonly<Record<string, Case>> = {
  'several tables and schemas': { tables: ALL },
  entityPrefix: { source: { entityPrefix: 'app_' }, tables: [{}, SECOND] },
  'snake case': { source: { namingStrategy: new SnakeCase() }, tables: [{}, SECOND] },
  'prefixes of a strategy and an entityPrefix, several tables and schemas': {
    source: { namingStrategy: new Prefixes(), entityPrefix: 'app' },
    tables: ALL,
  },
  'a name alone': { tables: [SECOND] },
}

/** What the migration has to create is for each version's schema builder to say: the first and the last case show it for 0.3. */
const cases = [
  ...availableBackends().map((backend) => ({
    backend,
    version: '1.x' as const,
    named: Object.entries(CASES),
  })),
  ...typeOrmBackends().map((backend) => ({
    ...{ backend, version: '0.3' as const },
    named: Object.entries(CASES).filter((_, index) => index % 3 === 0),
  })),
]

const drift = async (dataSource: AnyDataSource): Promise<string[]> => {
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log()
  return upQueries.map(({ query }) => query)
}

describeBackends(cases)('entity, migration and provider of TypeORM $version on $backend.name', (each) => {
  const { backend, version, named } = each
  const hasSchemas = !backend.dialect.startsWith('sqlite')
  let database: TestDatabase
  let ownSchema: string

  beforeEach(async () => {
    const opened = await openDatabase(backend)
    database = opened.database
    const isDatabase = ['mysql', 'mariadb'].includes(backend.dialect)
    ownSchema = isDatabase ? `${String(database.typeOrm.database)}_ops` : OPS.schema
    if (!hasSchemas) return
    await opened.dataSource.query(`create schema ${ownSchema}`)
    if (isDatabase) afterTest(() => opened.dataSource.query(`drop schema ${ownSchema}`))
  })

  const connect = async ({ source, tables }: Case) => {
    const options = tables
      .filter(({ schema }) => hasSchemas || schema === undefined)
      .map(({ schema, ...names }) => (schema ? { schema: ownSchema, ...names } : names))
    const entities = options.map((names) => shedLockEntity({ ...names, dialect: backend.dialect }))
    const migrations = options.map((names, index) => {
      const name = `CreateShedLock173568960000${index}`
      return class extends createShedLockMigration(names) {
        override readonly name = name
      }
    })
    const dataSource: AnyDataSource = await versions[version]({
      ...database.typeOrm,
      ...source,
      ...{ entities, migrations, logging: false },
    }).initialize()
    afterTest(() => dataSource.destroy())
    const providers = options.map((names) => typeOrmLockProvider(dataSource, names))
    return { dataSource, entities, providers }
  }

  const agree = async ({ dataSource, entities, providers }: Awaited<ReturnType<typeof connect>>) => {
    for (const [index, provider] of providers.entries()) {
      expect(await provider.table.check()).toEqual([])
      for (const name of [`Job ${index}`, `job ${index}`]) {
        expect(await provider.lock({ name, lockAtMostFor: '1h' })).toBeDefined()
        expect(await provider.lock({ name, lockAtMostFor: '1h' })).toBeUndefined()
      }
    }
    for (const [index, entity] of entities.entries()) {
      const rows = await dataSource.getRepository<ShedLock>(entity).find({ order: { name: 'ASC' } })
      expect(rows.map(({ name }) => name)).toEqual([`Job ${index}`, `job ${index}`])
      expect(rows[0]?.lockUntil).toBeInstanceOf(Date)
    }
  }

  it.each(named)('mean one table, and nothing is left to generate: %s', async (_, each) => {
    const connected = await connect(each)
    const { dataSource, providers } = connected
    expect(await dataSource.runMigrations()).toHaveLength(providers.length)
    expect(await dataSource.runMigrations()).toEqual([])
    expect(await drift(dataSource)).toEqual([])
    await agree(connected)
    if (each.tables[0] === SECOND)
      await expect(typeOrmLockProvider(dataSource).table.find('job')).rejects.toMatchObject({
        code: 'TABLE_MISSING',
      })
    for (let left = providers.length; left > 0; left--) await dataSource.undoLastMigration()
    expect(await drift(dataSource)).not.toEqual([])

    await dataSource.synchronize()
    await agree(connected)
    expect(await dataSource.runMigrations()).toHaveLength(providers.length)
    // The migration leaves a table that is there as it is.
    expect(await providers[0]?.lock({ name: 'Job 0', lockAtMostFor: '1h' })).toBeUndefined()
    expect(await drift(dataSource)).toEqual([])
  })
})

const migration = (name: string, up: string, down: string) =>
  class {
    readonly name = name
    up = (queryRunner: QueryRunner): Promise<unknown> => queryRunner.query(up)
    down = (queryRunner: QueryRunner): Promise<unknown> => queryRunner.query(down)
  }

/** As docs/tables.md has it. */
class RenameShedLock1795000000000 {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.renameTable('shedlock', 'job_locks')
  }
  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.renameTable('job_locks', 'shedlock')
  }
}

describeBackends(availableBackends())('the migrations of an app on $name', (backend) => {
  const job = { name: 'job', lockAtMostFor: '1h' }
  const opened = useDatabase(backend)
  const connect = (migrations: DataSourceOptions['migrations'], rest: LockTableOptions = {}) => {
    const { schema, ...names } = rest
    const entities = [shedLockEntity({ ...names, dialect: backend.dialect })]
    return opened.connect({ migrations, entities, ...(schema && { schema }) })
  }

  // In a database in memory another DataSource has another database.
  itIf(backend.shared, 'several connections')('may be older than the lock table, and rename it', async () => {
    const sql = ['create table orders (id int primary key)', 'drop table orders'] as const
    const CreateOrders = migration('CreateOrders1790000000000', ...sql)
    await (await connect([CreateOrders])).runMigrations()
    const before = await connect([CreateOrders, createShedLockMigration()])
    expect(await before.runMigrations()).toMatchObject([{ name: 'CreateShedLock1735689600000' }])
    await typeOrmLockProvider(before).lock(job)
    const rows: unknown[] = await before.query('select * from shedlock')
    const renamed = { tableName: 'job_locks' }
    // As if the name alone were changed.
    const after = await connect([CreateOrders, createShedLockMigration(renamed)], renamed)
    expect(await after.runMigrations()).toEqual([])
    await expect(typeOrmLockProvider(after, renamed).lock(job)).rejects.toEqual(
      lockError('TABLE_MISSING', 'set tableName to that name, or rename the table'),
    )
    const all = [CreateOrders, createShedLockMigration(), RenameShedLock1795000000000]
    const right = await connect(all, renamed)
    expect(await right.runMigrations()).toHaveLength(1)
    expect(await typeOrmLockProvider(right, renamed).table.check()).toEqual([])
    expect(await right.query('select * from job_locks')).toEqual(rows)
    await right.undoLastMigration()
    expect(await typeOrmLockProvider(right).table.find('job')).toMatchObject({ held: true })
  })

  itOn(backend, 'postgres')('may create the schema of the lock table, whose own comes later', async () => {
    const options = { schema: 'jobs' }
    const CreateSchema = migration('CreateSchema1764547200000', 'create schema jobs', 'drop schema jobs')
    class CreateShedLock1764547200001 extends createShedLockMigration(options) {
      override name = 'CreateShedLock1764547200001'
    }
    const dataSource = await connect([CreateShedLock1764547200001, CreateSchema])
    await dataSource.runMigrations()
    expect(await typeOrmLockProvider(dataSource, options).table.check()).toEqual([])
    await dataSource.undoLastMigration()
    await dataSource.undoLastMigration()
  })

  itOn(backend, 'postgres')("mean the DataSource's own schema, as provider and entity do", async () => {
    await opened.dataSource.query('create schema jobs')
    // The one that a provider without the schema would find.
    await opened.dataSource.query('create table shedlock (name text)')
    const dataSource = await connect([createShedLockMigration()], { schema: 'jobs' })
    await dataSource.runMigrations()
    const provider = typeOrmLockProvider(dataSource)
    expect(await provider.table.check()).toEqual([])
    await provider.lock(job)
    expect(await dataSource.getRepository<ShedLock>('ShedLock').find()).toMatchObject([{ name: 'job' }])
    expect(await drift(dataSource)).toEqual([])
    // What the options name wins.
    const [finding] = await typeOrmLockProvider(dataSource, { schema: 'public' }).table.check()
    expect(finding?.message).toContain("'public.shedlock'")
    await dataSource.undoLastMigration()
    await expect(provider.lock(job)).rejects.toEqual(lockError('TABLE_MISSING', "'jobs.shedlock'"))
  })

  itOn(backend, 'postgres')('create one table, in the schema that an earlier one has set', async () => {
    await opened.dataSource.query('create schema jobs')
    const queryRunner = opened.dataSource.createQueryRunner()
    await queryRunner.query('set search_path to jobs')
    await new (createShedLockMigration())().up(queryRunner)
    await queryRunner.release()
    const tables = "select schemaname from pg_catalog.pg_tables where tablename = 'shedlock'"
    expect(await opened.dataSource.query(tables)).toEqual([{ schemaname: 'jobs' }])
  })

  const WRONG = [
    ['name varchar(64) primary key, holder int', { message: expect.stringMatching(/lock_until/i) }],
    [
      'name varchar(64) primary key, lock_until timestamptz, locked_at timestamptz, locked_by text',
      { code: 'TABLE_MISMATCH' },
    ],
  ] as const
  it.each(WRONG.slice(0, backend.dialect === 'postgres' ? 2 : 1))(
    'are refused a table that would not lock: %s',
    async (columns, error) => {
      const dataSource = await connect([createShedLockMigration()])
      await dataSource.query(`create table shedlock (${columns})`)
      await expect(dataSource.runMigrations()).rejects.toMatchObject(error)
      expect(await dataSource.query('select * from shedlock')).toEqual([])
    },
  )
})

it.each([
  ['a schema of an unknown database', { schema: 'ops' }, 'set dialect too'],
  ['a schema on SQLite', { schema: 'ops', dialect: 'sqlite' }, 'leave out schema'],
  ['a dot in the table', { tableName: 'ops.shedlock' }, 'without dots'],
  ['a dot in the schema', { schema: 'o.ps', dialect: 'postgres' }, 'without dots'],
] as const)('an entity whose table TypeORM could not find is refused: %s', (_, options, message) => {
  expect(() => shedLockEntity(options)).toThrow(lockError('INVALID_CONFIGURATION', message))
})

it('ignores a schema of the DataSource where TypeORM does', async () => {
  const provider = typeOrmLockProvider(
    await openMemory({ type: 'sqljs', database: undefined, schema: 'ops' }),
  )
  await provider.table.create()
  expect(await provider.table.check()).toEqual([])
})

it('refuses a naming strategy that gives two columns one name', () => {
  class OneName extends DefaultNamingStrategy {
    override columnName = () => 'column'
  }
  const dataSource = new DataSource({ type: 'sqljs', namingStrategy: new OneName() })
  expect(() => typeOrmLockProvider(dataSource)).toThrow(lockError('INVALID_CONFIGURATION', 'two columns'))
})

it('a migration can be extended by code that is compiled to ES5, which calls its constructor without new', () => {
  const Parent = createShedLockMigration() as unknown as (this: object) => object | undefined
  function Child(this: object): object {
    return Parent.call(this) ?? this
  }
  Object.setPrototypeOf(Child.prototype as object, Parent.prototype as object)
  const migration = new (Child as unknown as new () => object)()
  expect(migration).toMatchObject({ name: 'CreateShedLock1735689600000', up: expect.any(Function) })
})
