import { DataSource, DefaultNamingStrategy, type DataSourceOptions } from 'typeorm'
import { DataSource as DataSource03, type DataSourceOptions as DataSourceOptions03 } from 'typeorm-0.3'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockTableOptions } from '../../src/sql/internal'
import {
  createShedLockMigration,
  shedLockEntity,
  typeOrmLockProvider,
  type ShedLock,
} from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
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
class UpperCase extends DefaultNamingStrategy {
  override tableName(target: string, given: string | undefined): string {
    return (given ?? target).toUpperCase()
  }
  override columnName(property: string, given: string | undefined): string {
    return (given ?? property).toUpperCase()
  }
}

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

const SECOND = { tableName: 'report_locks', columnNames: { name: 'jobName', lockUntil: 'until' } }
const OPS = { schema: 'shedlock_ops' }

const CASES: Readonly<Record<string, Case>> = {
  'default names': { tables: [{}] },
  'mixed-case names': {
    tables: [{ tableName: 'JobLocks', columnNames: { name: 'jobName', lockUntil: 'lockUntil' } }],
  },
  entityPrefix: { source: { entityPrefix: 'app_' }, tables: [{}] },
  'entityPrefix, names that were given': { source: { entityPrefix: 'app_' }, tables: [SECOND] },
  'snake case': { source: { namingStrategy: new SnakeCase() }, tables: [{}] },
  'upper case': { source: { namingStrategy: new UpperCase() }, tables: [{}] },
  'prefixes of a strategy and an entityPrefix': {
    source: { namingStrategy: new Prefixes(), entityPrefix: 'app' },
    tables: [SECOND],
  },
  'a schema': { tables: [OPS] },
  'a second table': { tables: [{}, SECOND] },
  'a second table in another schema': { tables: [{}, OPS] },
  'all of them': {
    source: { namingStrategy: new UpperCase(), entityPrefix: 'app_' },
    tables: [{}, SECOND, OPS, { ...OPS, ...SECOND }],
  },
}

const cases = availableBackends().flatMap((backend) =>
  (Object.keys(versions) as (keyof typeof versions)[]).map((version) => ({ backend, version })),
)

describeBackends(cases)('entity, migration and provider of TypeORM $version on $backend.name', (each) => {
  const { backend, version } = each
  const hasSchemas = !backend.dialect.startsWith('sqlite')
  const possible = Object.entries(CASES).filter(
    ([, { tables }]) => hasSchemas || tables.every(({ schema }) => schema === undefined),
  )
  let database: TestDatabase
  let ownSchema: string

  beforeEach(async () => {
    database = await backend.create()
    const isDatabase = ['mysql', 'mariadb'].includes(backend.dialect)
    ownSchema = isDatabase ? `${String(database.typeOrm.database)}_ops` : OPS.schema
    if (hasSchemas) {
      const admin = await versions[version](database.typeOrm).initialize()
      await admin.query(isDatabase ? `create database ${ownSchema}` : `create schema ${ownSchema}`)
      afterTest(async () => {
        if (isDatabase) await admin.query(`drop database ${ownSchema}`)
        await admin.destroy()
        await database.drop()
      })
    } else afterTest(() => database.drop())
  })

  const connect = async ({ source, tables }: Case) => {
    const options = tables.map(({ schema, ...names }) => (schema ? { schema: ownSchema, ...names } : names))
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

  const drift = async (dataSource: AnyDataSource): Promise<string[]> => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log()
    return upQueries.map(({ query }) => query)
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

  it.each(possible)('mean one table, and nothing is left to generate: %s', async (_, each) => {
    const connected = await connect(each)
    expect(await connected.dataSource.runMigrations()).toHaveLength(each.tables.length)
    expect(await connected.dataSource.runMigrations()).toEqual([])
    expect(await drift(connected.dataSource)).toEqual([])
    await agree(connected)
    for (let left = each.tables.length; left > 0; left--) await connected.dataSource.undoLastMigration()
    expect(await drift(connected.dataSource)).not.toEqual([])
  })

  it.each(possible)('mean one table, which synchronize creates: %s', async (_, each) => {
    const connected = await connect(each)
    await connected.dataSource.synchronize()
    await agree(connected)
    await connected.dataSource.runMigrations()
    expect(await drift(connected.dataSource)).toEqual([])
  })
})

describe('an entity whose table TypeORM could not find', () => {
  it.each([
    ['a schema of an unknown database', { schema: 'ops' }, 'set dialect too'],
    ['a schema on SQLite', { schema: 'ops', dialect: 'sqlite' }, 'leave out schema'],
    ['a dot in the table', { tableName: 'ops.shedlock' }, 'without dots'],
    ['a dot in the schema', { schema: 'o.ps', dialect: 'postgres' }, 'without dots'],
  ] as const)('is refused: %s', (_, options, message) => {
    expect(() => shedLockEntity(options)).toThrow(lockError('INVALID_CONFIGURATION', message))
  })
})

it('ignores a schema of the DataSource where TypeORM does', async () => {
  const dataSource = await new DataSource({ type: 'sqljs', schema: 'ops' } as DataSourceOptions).initialize()
  afterTest(() => dataSource.destroy())
  const provider = typeOrmLockProvider(dataSource)
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
