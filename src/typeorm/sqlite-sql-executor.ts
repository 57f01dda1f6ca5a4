import { drivers, sqlExecutor, type Answer } from '../drivers'
import { DriverError, idleConnection, type SqlExecutor } from '../sql'
import { checkInitialised, type DataSourceLike } from './data-source-like'
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
  const use = connectionOf(dataSource)
  return sqlExecutor(drivers.sqlite, async (text, values) => {
    checkInitialised(dataSource)
    const answer = await use((connection) => connection.run(text, values))
    if (Number(answer.changed) > 0) await autoSave(dataSource)
    return answer
  })
}

type Use = (work: (connection: SqliteConnection) => Answer) => Promise<Answer>

function connectionOf(dataSource: DataSourceLike): Use {
  const { type, database } = dataSource.options
  if (type === 'sqljs') return sharedConnection(() => sqlJsConnection(rawConnection(dataSource) as SqlJsLike))
  return isInMemory(database)
    ? sharedConnection(() => betterSqlite3Connection(rawConnection(dataSource) as BetterSqlite3Like))
    : secondConnection(dataSource)
}

function isInMemory(database: unknown): boolean {
  return typeof database !== 'string' || database === '' || /:memory:|mode=memory/.test(database)
}

/** A positive busy timeout would freeze the event loop while the app itself holds the write lock: better-sqlite3 is synchronous. */
function secondConnection(dataSource: DataSourceLike): Use {
  const driver = dataSource.driver as {
    createDatabaseConnection(): Promise<BetterSqlite3Like & { pragma(text: string): unknown }>
  }
  const open = async (): Promise<SqliteConnection> => {
    const database = await driver.createDatabaseConnection()
    database.pragma('busy_timeout = 0')
    return betterSqlite3Connection(database)
  }
  return idleConnection(open, (connection) => {
    connection.close()
  })
}

function sharedConnection(connect: () => SqliteConnection): Use {
  // eslint-disable-next-line @typescript-eslint/require-await -- what it throws rejects
  return async (work) => {
    const connection = connect()
    try {
      connection.run('begin')
    } catch (error) {
      throw new DriverError('SQLITE_BUSY', error)
    }
    return commitOrRollBack(connection, work)
  }
}

function commitOrRollBack<T>(connection: SqliteConnection, work: (connection: SqliteConnection) => T): T {
  try {
    const result = work(connection)
    connection.run('commit')
    return result
  } catch (error) {
    try {
      connection.run('rollback')
    } catch {
      // A full disk, say, has rolled it back already. The first error is the one to tell.
    }
    throw error
  }
}

/** sql.js lives in memory; with `autoSave` TypeORM writes it to its file after each change. */
async function autoSave(dataSource: DataSourceLike): Promise<void> {
  try {
    await (dataSource.driver as { autoSave?(): Promise<void> }).autoSave?.()
  } catch (error) {
    // It is done, but not saved: nobody knows whether it will be there after a restart.
    throw new DriverError(undefined, error)
  }
}
