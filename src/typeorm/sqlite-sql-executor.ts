import { drivers, sqlExecutor, type StatementResult } from '../drivers/internal'
import { DriverError, idleConnection, type SqlRow, type SqlExecutor } from '../sql/internal'
import type { DataSourceLike } from './data-source-like'
import { checkInitialised } from './query-runner-sql-executor'

/** What this library uses of TypeORM's drivers for SQLite. */
interface SqliteDriverLike {
  /** The connection of the app. */
  readonly databaseConnection: object
  /** Opens the file once more; of better-sqlite3 alone. */
  createDatabaseConnection(): Promise<BetterSqlite3Like>
  /** sql.js lives in memory: with `autoSave` it is written to its file after each change. */
  autoSave?(): Promise<void>
}

/** What this library uses of better-sqlite3. */
interface BetterSqlite3Like {
  prepare(text: string): {
    /** Whether it has a result. */
    readonly reader: boolean
    run(...values: unknown[]): { changes: number }
    all(...values: unknown[]): unknown[]
  }
  close(): unknown
  pragma(text: string): unknown
}

/** What this library uses of sql.js. */
interface SqlJsLike {
  prepare(text: string): {
    getColumnNames(): unknown[]
    bind(values: unknown[]): unknown
    step(): boolean
    getAsObject(): SqlRow
    free(): unknown
  }
  getRowsModified(): number
}

/** Runs a statement on one connection synchronously: what happens in one tick cannot be mixed with the app's own. */
type Run = (text: string, values?: unknown[]) => StatementResult

/**
 * SQLite in TypeORM has one connection for everything, so a lock on it would be part of whatever transaction the app
 * has open, and vanish with its rollback. A file is therefore opened a second time. What lives in memory has no second
 * connection: there a lock is acquired between the app's transactions, in one tick, and waits while one is open.
 */
export function sqliteSqlExecutor(dataSource: DataSourceLike): SqlExecutor {
  const { type, database } = dataSource.options
  // Not kept: a DataSource that gets other options makes another one.
  const driver = () => dataSource.driver as SqliteDriverLike
  const shared = (): Run =>
    type === 'sqljs'
      ? onSqlJs(driver().databaseConnection as SqlJsLike)
      : onBetterSqlite3(driver().databaseConnection as BetterSqlite3Like)
  const run = type === 'sqljs' || isInMemory(database) ? inTransaction(shared) : onSecondConnection(driver)
  return sqlExecutor(drivers.sqlite, async (text, values) => {
    checkInitialised(dataSource)
    const answer = await run(text, values)
    if (Number(answer.changed) > 0) await autoSave(driver())
    return answer
  })
}

function isInMemory(database: unknown): boolean {
  return typeof database !== 'string' || database === '' || /:memory:|mode=memory/.test(database)
}

function onSecondConnection(
  driver: () => SqliteDriverLike,
): (text: string, values: unknown[]) => Promise<StatementResult> {
  const open = async () => {
    const database = await driver().createDatabaseConnection()
    // better-sqlite3 is synchronous: a positive one would freeze the event loop while the app itself holds the write lock.
    database.pragma('busy_timeout = 0')
    return { run: onBetterSqlite3(database), close: () => database.close() }
  }
  const use = idleConnection(open, ({ close }) => close())
  return (text, values) => use(({ run }) => run(text, values))
}

function inTransaction(connect: () => Run): (text: string, values: unknown[]) => Promise<StatementResult> {
  // eslint-disable-next-line @typescript-eslint/require-await -- what it throws rejects
  return async (text, values) => {
    const run = connect()
    try {
      run('begin')
    } catch (error) {
      throw new DriverError('SQLITE_BUSY', error)
    }
    try {
      const answer = run(text, values)
      run('commit')
      return answer
    } catch (error) {
      try {
        run('rollback')
      } catch {
        // A full disk, say, has rolled it back already. The first error is the one to tell.
      }
      throw error
    }
  }
}

function onBetterSqlite3(database: BetterSqlite3Like): Run {
  const prepared = new Map<string, ReturnType<BetterSqlite3Like['prepare']>>()
  return (text, values = []) => {
    const statement = prepared.get(text) ?? database.prepare(text)
    prepared.set(text, statement)
    return statement.reader
      ? { rows: statement.all(...values) as SqlRow[], changed: 0 }
      : { rows: [], changed: statement.run(...values).changes }
  }
}

function onSqlJs(database: SqlJsLike): Run {
  return (text, values = []) => {
    const statement = database.prepare(text)
    try {
      statement.bind(values)
      const rows = []
      while (statement.step()) rows.push(statement.getAsObject())
      const isRead = statement.getColumnNames().length > 0
      return { rows, changed: isRead ? 0 : database.getRowsModified() }
    } finally {
      statement.free()
    }
  }
}

async function autoSave(driver: SqliteDriverLike): Promise<void> {
  try {
    await driver.autoSave?.()
  } catch (error) {
    // It is done, but not saved: nobody knows whether it will be there after a restart.
    throw new DriverError(undefined, error)
  }
}
