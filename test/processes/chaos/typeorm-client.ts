import { DataSource, type EntityManager } from 'typeorm'
import { guard, typeOrmLockProvider } from '../../../src/typeorm/internal'
import { breakStatements } from './break-statements'
import { WORKER } from '../servers/tcp-proxy'
import { dataSourceOptions, SERIALIZABLE_MYSQL } from './chaos-database'
import { spelled, type WorkerClient, type WorkerClientOptions } from './worker-client'

export async function typeOrmClient({
  connection,
  timeLimit,
  broken,
}: WorkerClientOptions): Promise<WorkerClient> {
  const { dialect } = connection
  const dataSource = new DataSource(dataSourceOptions(connection))
  await dataSource.initialize()
  if ((connection.dialect === 'mariadb' || connection.dialect === 'mysql') && connection.serializable)
    greet(dataSource, SERIALIZABLE_MYSQL)
  if (broken !== undefined) breakDataSource(dataSource, breakStatements(broken, dialect))
  return {
    provider: typeOrmLockProvider(dataSource, { timeLimit, lockedBy: WORKER }),
    transaction: async (work) => {
      try {
        return await dataSource.transaction((manager: EntityManager) =>
          work({
            execute: async (statement, values) => {
              await manager.query(spelled(statement, dialect), [...values])
            },
            rows: (statement, values) => manager.query(spelled(statement, dialect), [...values]),
            guard: () => (broken === 'guard' ? Promise.resolve() : guard(manager)),
          }),
        )
      } catch (error) {
        if (dialect === 'sqlite') forgetTransaction(dataSource)
        throw error
      }
    },
    close: () => dataSource.destroy(),
  }
}

function greet(dataSource: DataSource, greeting: string): void {
  const { pool } = dataSource.driver as unknown as {
    pool: { on(event: 'connection', listener: (connection: { query(text: string): void }) => void): void }
  }
  pool.on('connection', (connection) => {
    connection.query(greeting)
  })
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

/** What the lock uses of mysql2, and of pg. */
interface DriverConnection {
  execute?(text: string, ...rest: unknown[]): unknown
  query(statement: { name?: string | undefined; text: string } | string, ...rest: unknown[]): unknown
}

function breakConnection(connection: DriverConnection, rewrite: (text: string) => string): void {
  const query = connection.query.bind(connection)
  connection.query = (statement, ...rest) => {
    if (typeof statement === 'string') return query(statement, ...rest)
    const text = rewrite(statement.text)
    // A prepared statement's name belongs to the original text.
    return query(text === statement.text ? statement : { ...statement, name: undefined, text }, ...rest)
  }
  const execute = connection.execute?.bind(connection)
  if (execute) connection.execute = (text, ...rest) => execute(rewrite(text), ...rest)
}

interface PreparingDatabase {
  prepare(text: string): unknown
}

function breakDataSource(dataSource: DataSource, rewrite: (text: string) => string): void {
  const createQueryRunner = dataSource.createQueryRunner.bind(dataSource)
  const rewritten = new WeakSet<object>()
  dataSource.createQueryRunner = (mode) => {
    const queryRunner = createQueryRunner(mode)
    if (rewritten.has(queryRunner)) return queryRunner
    rewritten.add(queryRunner)
    const query = queryRunner.query.bind(queryRunner) as (
      text: string,
      ...rest: unknown[]
    ) => Promise<unknown>
    queryRunner.query = (text: string, ...rest: unknown[]) => query(rewrite(text), ...rest) as Promise<never>
    const connect = queryRunner.connect.bind(queryRunner) as () => Promise<DriverConnection>
    // On these databases the lock only uses the query runner's own `query`.
    if (dataSource.options.type === 'mssql' || dataSource.options.type === 'oracle') return queryRunner
    queryRunner.connect = async () => {
      const connection = await connect()
      if (!rewritten.has(connection)) breakConnection(connection, rewrite)
      rewritten.add(connection)
      return connection
    }
    return queryRunner
  }
  // The lock opens a SQLite file a second time, and uses that connection directly.
  const driver = dataSource.driver as unknown as { createDatabaseConnection?(): Promise<PreparingDatabase> }
  const connect = driver.createDatabaseConnection?.bind(driver)
  if (!connect) return
  driver.createDatabaseConnection = async () => {
    const database = await connect()
    const prepare = database.prepare.bind(database)
    database.prepare = (text) => prepare(rewrite(text))
    return database
  }
}
