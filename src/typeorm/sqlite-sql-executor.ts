import { drivers } from '../drivers'
import { DriverError, idleConnection, speller, type SqlExecutor, type Statement, type Values } from '../sql'
import type { DataSourceLike } from './data-source-like'
import {
  betterSqlite3Connection,
  rawConnection,
  sqlJsConnection,
  type BetterSqlite3Like,
  type SqliteConnection,
  type SqlJsLike,
} from './sqlite-connection'

/**
 * SQLite in TypeORM has one connection for everything, so a lock on it would be part of whatever transaction the app
 * has open, and vanish with its rollback. A file is therefore opened a second time. What lives in memory has no second
 * connection: there a lock is taken between the app's transactions, in one tick, and waits while one is open.
 */
export function sqliteSqlExecutor(dataSource: DataSourceLike): SqlExecutor {
  if (dataSource.options.type === 'sqljs') {
    return sharedConnectionExecutor(
      () => sqlJsConnection(rawConnection(dataSource) as SqlJsLike),
      () => autoSave(dataSource),
    )
  }
  if (isInMemory(dataSource.options.database)) {
    return sharedConnectionExecutor(() =>
      betterSqlite3Connection(rawConnection(dataSource) as BetterSqlite3Like),
    )
  }
  return secondConnectionExecutor(dataSource)
}

function isInMemory(database: unknown): boolean {
  return typeof database !== 'string' || database === '' || /:memory:|mode=memory/.test(database)
}

type Use = <T>(work: (connection: SqliteConnection) => T) => Promise<T>

/** @param afterChange makes a change last */
function executor(use: Use, afterChange?: () => Promise<void>): SqlExecutor {
  const spelled = speller(drivers.sqlite.placeholder)
  const run = <T>(
    statement: Statement,
    values: Values,
    work: (connection: SqliteConnection, text: string, bound: unknown[]) => T,
  ): Promise<T> => {
    const { text, bind } = spelled(statement)
    return use((connection) => work(connection, text, bind(values))).catch((error: unknown) => {
      throw sqliteError(error)
    })
  }
  return {
    execute: async (statement, values) => {
      const changed = await run(statement, values, (connection, text, bound) => connection.run(text, bound))
      if (changed > 0)
        await afterChange?.().catch((error: unknown) => {
          // It is done, but not saved: nobody knows whether it will be there after a restart.
          throw new DriverError(undefined, error)
        })
      return changed
    },
    query: (statement, values) =>
      run(statement, values, (connection, text, bound) => connection.all(text, bound)),
  }
}

/** A positive busy timeout would freeze the event loop while the app itself holds the write lock: better-sqlite3 is synchronous. */
function secondConnectionExecutor(dataSource: DataSourceLike): SqlExecutor {
  const driver = dataSource.driver as {
    createDatabaseConnection(): Promise<BetterSqlite3Like & { pragma(text: string): unknown }>
  }
  const open = async (): Promise<SqliteConnection> => {
    const database = await driver.createDatabaseConnection()
    database.pragma('busy_timeout = 0')
    return betterSqlite3Connection(database)
  }
  return executor(
    idleConnection(open, (connection) => {
      connection.close()
    }),
  )
}

function sharedConnectionExecutor(
  connect: () => SqliteConnection,
  afterChange?: () => Promise<void>,
): SqlExecutor {
  // eslint-disable-next-line @typescript-eslint/require-await -- what it throws rejects
  return executor(async (work) => {
    const connection = connect()
    try {
      connection.run('begin', [])
    } catch (error) {
      throw new DriverError('SQLITE_BUSY', error)
    }
    return commitOrRollBack(connection, work)
  }, afterChange)
}

function commitOrRollBack<T>(connection: SqliteConnection, work: (connection: SqliteConnection) => T): T {
  try {
    const result = work(connection)
    connection.run('commit', [])
    return result
  } catch (error) {
    try {
      connection.run('rollback', [])
    } catch {
      // A full disk, say, has rolled it back already. The first error is the one to tell.
    }
    throw error
  }
}

/** sql.js lives in memory; with `autoSave` TypeORM writes it to its file after each change. */
async function autoSave(dataSource: DataSourceLike): Promise<void> {
  await (dataSource.driver as { autoSave?(): Promise<void> }).autoSave?.()
}

function sqliteError(error: unknown): unknown {
  return error instanceof DriverError
    ? error
    : new DriverError(drivers.sqlite.errorCode(error as object), error)
}
