import { beforeEach } from '@jest/globals'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { DataSource as DataSource03 } from 'typeorm-0.3'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { afterTest } from '../after-test'
import type { TestDatabase } from '.'

/** A database of its own, and a client of TypeORM. */
export interface OpenDatabase<Database = TestDatabase> {
  readonly database: Database
  readonly dataSource: DataSource
  /** One more client, which is closed with the others, or `after` something else. */
  readonly connect: (options?: object, after?: typeof afterTest) => Promise<DataSource>
}

/** Lets a client run the migration of the lock table when it connects. */
export const migrated = (...options: Parameters<typeof createShedLockMigration>) => ({
  migrations: [createShedLockMigration(...options)],
  migrationsRun: true,
})

/** @param after when the database goes, with its clients: `afterTest`, or `afterFile` */
export async function openDatabase<Database extends TestDatabase>(
  backend: { create(): Promise<Database> },
  options: object = {},
  after = afterTest,
): Promise<OpenDatabase<Database>> {
  const database = await backend.create()
  after(() => database.drop())
  const connect: OpenDatabase['connect'] = async (rest = {}, closed = after) => {
    const all = { ...database.typeOrm, ...rest }
    const dataSource = await createDataSource(all).initialize()
    closed(() => dataSource.isInitialized && dataSource.destroy())
    return dataSource
  }
  return { database, dataSource: await connect(options), connect }
}

/** One that is new in each test of the file or block that calls this. */
export function useDatabase(
  backend: { create(): Promise<TestDatabase> },
  options: object = {},
): OpenDatabase {
  const opened = {} as OpenDatabase
  beforeEach(async () => {
    Object.assign(opened, await openDatabase(backend, options))
  })
  return opened
}

/** TypeORM 1 has dropped the type `sqlite`. */
function createDataSource(options: DataSourceOptions): DataSource {
  return (options.type as string) === 'sqlite'
    ? (new DataSource03(options as never) as unknown as DataSource)
    : new DataSource(options)
}

/** A client of SQLite in memory. */
export async function openMemory(options: object = {}): Promise<DataSource> {
  const all = { type: 'better-sqlite3', database: ':memory:', ...options }
  const dataSource = await new DataSource(all as DataSourceOptions).initialize()
  afterTest(() => dataSource.isInitialized && dataSource.destroy())
  return dataSource
}
