import { DataSource } from 'typeorm'
import type { LockProvider } from '../../src/core/lock-provider'
import { drivers } from '../../src/drivers/drivers'
import { guard as guardInPrisma } from '../../src/prisma/guard'
import type { RawClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { driverOf } from '../../src/prisma/prisma-driver'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { guard } from '../../src/typeorm/guard'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { adapterFor, connect } from '../../test/prisma/adapters'
import { WORKER } from '../servers/network'
import { dataSourceOptions, SERIALIZABLE_MYSQL, SERIALIZABLE_POSTGRES, type Connection } from './connection'

/** A process's access to the library: an ORM with its lock provider, its transactions and its guard. */
export interface Client {
  readonly provider: LockProvider & Pick<SqlLockProvider, 'table'>
  /** Runs a query of the app. @param statement with `?` for values */
  query(statement: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

interface Transaction extends Pick<Client, 'query'> {
  guard(): Promise<void>
}

export const ORMS = ['typeorm', 'prisma'] as const
export type Orm = (typeof ORMS)[number]

/** Returns the ORMs that support the database. Prisma does not support Oracle. */
export function ormsOf(db: string): readonly Orm[] {
  return db === 'oracle' ? ['typeorm'] : ORMS
}

export interface ClientOptions {
  readonly orm: Orm
  readonly connection: Connection
  /** In milliseconds. Default: the library's. */
  readonly timeLimit?: number | undefined
}

export function openClient(options: ClientOptions): Promise<Client> {
  return options.orm === 'typeorm' ? openTypeOrm(options) : openPrisma(options)
}

/** `OWN_CONNECTIONS=0`: the locks use the client's pool. */
const ownConnections = Number(process.env['OWN_CONNECTIONS'] ?? 10)

async function openTypeOrm({ connection, timeLimit }: ClientOptions): Promise<Client> {
  const { dialect } = connection
  const dataSource = await new DataSource(dataSourceOptions(connection)).initialize()
  if (connection.serializable) greet(dataSource, SERIALIZABLE_MYSQL)
  const queries = (manager: Pick<DataSource, 'query'>): Pick<Client, 'query'> => ({
    query: (statement, values = []) =>
      manager.query(spelled(statement, drivers[dialect].placeholder), [...values]),
  })
  return {
    provider: typeOrmLockProvider(dataSource, { timeLimit, ownConnections, lockedBy: WORKER }),
    ...queries(dataSource),
    transaction: async (work) => {
      try {
        return await dataSource.transaction((manager) =>
          work({ ...queries(manager), guard: () => guard(manager) }),
        )
      } catch (error) {
        if (dialect === 'sqlite') forgetTransaction(dataSource)
        throw error
      }
    },
    close: () => dataSource.destroy(),
  }
}

/** Sends a statement on each new connection of mysql2. */
function greet({ driver }: DataSource, greeting: string): void {
  const { pool } = driver as unknown as {
    pool: { on(event: string, listener: (connection: { query(text: string): void }) => void): void }
  }
  if (driver.options.type === 'mysql' || driver.options.type === 'mariadb')
    pool.on('connection', (connection) => connection.query(greeting))
}

/**
 * Resets TypeORM's transaction state. When SQLite itself has rolled back (SQLITE_FULL), TypeORM 1.1 fails to roll back again and from
 * then on counts one transaction too many: its next rollback only returns to a savepoint, so the file stays locked.
 */
function forgetTransaction(dataSource: DataSource): void {
  const { databaseConnection } = dataSource.driver as unknown as {
    databaseConnection: { inTransaction: boolean; exec(text: string): unknown }
  }
  if (databaseConnection.inTransaction) databaseConnection.exec('rollback')
  Object.assign(dataSource.createQueryRunner(), { isTransactionActive: false, transactionDepth: 0 })
}

async function openPrisma({ connection, timeLimit }: ClientOptions): Promise<Client> {
  const { dialect } = connection
  const adapter = adapterFor(dialect)
  const options = adapterOptions(connection)
  const prisma = await connect(adapter, connection.url, options)
  // The adapter for MySQL hides its settings.
  const isHidden = ownConnections > 0 && ['mariadb', 'mysql'].includes(dialect)
  const text = { connectionLimit: 1, adapter: { useTextProtocol: true } }
  const own = isHidden && { adapter: (await adapter.make(connection.url, { ...options, ...text })) as never }
  const queries = (client: RawClientLike): Pick<Client, 'query'> => ({
    query: async (statement, values = []) => {
      const text = spelled(statement, driverOf(dialect).placeholder)
      if (!/^(update|insert) /.test(text))
        return (await client.$queryRawUnsafe(text, ...values)) as Record<string, unknown>[]
      await client.$executeRawUnsafe(text, ...values)
      return []
    },
  })
  await prisma.$queryRawUnsafe('select 1')
  return {
    provider: prismaLockProvider(prisma, { timeLimit, ownConnections, lockedBy: WORKER, ...own }),
    ...queries(prisma),
    transaction: (work) =>
      prisma.$transaction((tx) => work({ ...queries(tx), guard: () => guardInPrisma(tx) }), {
        maxWait: 5_000,
        timeout: 60_000,
      }),
    close: () => prisma.$disconnect(),
  }
}

function adapterOptions({ dialect, serializable, max = 5, driver }: Connection): Record<string, unknown> {
  if (dialect === 'sqlite') return { timeout: 250, ...driver }
  if (dialect === 'mssql') return { pool: { max }, ...driver }
  if (dialect === 'mariadb' || dialect === 'mysql')
    return { connectionLimit: max, ...(serializable && { initSql: SERIALIZABLE_MYSQL }), ...driver }
  return { max, ...(serializable && { options: SERIALIZABLE_POSTGRES }), ...driver }
}

/** Replaces each `?` by the client's placeholder. */
function spelled(statement: string, placeholder: (position: number) => string): string {
  let position = 0
  return statement.replace(/\?/g, () => placeholder(position++))
}
