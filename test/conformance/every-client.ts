import { DataSource } from 'typeorm'
import { prismaLockProvider } from '../../src/prisma'
import type { DialectName, SqlExecutor, SqlLockProvider, SqlLockProviderOptions } from '../../src/sql'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends } from '../backends'
import { prismaBackends } from '../prisma/clients'
import { observeLockTable } from './lock-table-observer'
import { onEachConnection, prismaSettings, typeOrmSettings, type SessionSettings } from './session-settings'
import { prismaExecutor, typeOrmExecutor } from './sql-executors'

/** A database of its own with a lock table, the client under test, and a look past it. */
export interface OpenClient {
  /** How the client runs one statement. */
  readonly executor: SqlExecutor
  readonly table: ReturnType<typeof observeLockTable>
  readonly observer: DataSource
  createProvider(options?: SqlLockProviderOptions): SqlLockProvider
  close(): Promise<void>
}

/** One ORM on one backend. */
export interface ClientCase {
  readonly title: string
  readonly backend: string
  readonly dialect: DialectName
  readonly orm: 'TypeORM' | 'Prisma'
  /**
   * @param settings of every session of the client under test, such as `{ sql_mode: 'ANSI_QUOTES' }`
   * @param options of the pool or the driver, as this ORM takes them
   */
  open(settings?: SessionSettings, options?: object): Promise<OpenClient>
}

/** TypeORM and Prisma on every backend that several connections can share. */
export function everyClient(): ClientCase[] {
  return [...typeOrmCases(), ...prismaCases()]
}

function typeOrmCases(): ClientCase[] {
  const backends = availableBackends().filter(({ shared }) => shared)
  return backends.map((backend) => ({
    title: `TypeORM on ${backend.name}`,
    backend: backend.name,
    dialect: backend.dialect,
    orm: 'TypeORM',
    open: async (settings = {}, options = {}) => {
      const { dialect } = backend
      const database = await backend.create()
      const observer = await new DataSource(database.typeOrm).initialize()
      const table = observeLockTable(observer, dialect)
      await table.createTable()
      const rest = { ...typeOrmSettings(dialect, settings), ...options }
      const dataSource = await new DataSource({ ...database.typeOrm, ...rest }).initialize()
      onEachConnection(dataSource, dialect, settings)
      return {
        executor: typeOrmExecutor(dataSource, dialect),
        table,
        observer,
        createProvider: (wanted) => typeOrmLockProvider(dataSource, wanted),
        close: async () => {
          await dataSource.destroy()
          await observer.destroy()
          await database.drop()
        },
      }
    },
  }))
}

/** Without libsql: it and the observer's library must not have one file open in one process. */
function prismaCases(): ClientCase[] {
  const backends = prismaBackends().filter(({ shared, adapter }) => shared && adapter !== 'libsql')
  return backends.map((backend) => ({
    title: `Prisma on ${backend.name}`,
    backend: backend.name,
    dialect: backend.dialect,
    orm: 'Prisma',
    open: async (settings = {}, options = {}) => {
      const { dialect } = backend
      const database = await backend.create()
      const observer = await new DataSource(database.typeOrm).initialize()
      const table = observeLockTable(observer, dialect)
      await table.createTable()
      const prisma = await database.connect({ ...prismaSettings(dialect, settings), ...options })
      return {
        executor: prismaExecutor(prisma, dialect),
        table,
        observer,
        createProvider: (rest) => prismaLockProvider(prisma, rest),
        close: async () => {
          await observer.destroy()
          await database.drop()
        },
      }
    },
  }))
}
