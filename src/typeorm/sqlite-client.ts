import { drivers, sqlClient } from '../drivers/internal'
import {
  DriverError,
  idleConnection,
  type SqlClient,
  type SqlRow,
  type StatementResult,
} from '../sql/internal'
import type { DataSourceLike } from './data-source-like'
import { checkInitialised, notInitialised } from './query-runner-client'

/** What this library uses of TypeORM's SQLite drivers. */
interface SqliteDriverLike {
  /** The app's connection. */
  readonly databaseConnection: object
  /** Opens the file a second time. Only better-sqlite3's driver has it. */
  createDatabaseConnection(): Promise<BetterSqlite3Like>
  /** Saves sql.js's in-memory database, if the DataSource has the option `autoSave`. */
  autoSave?(): Promise<void>
}

/** What this library uses of better-sqlite3. */
interface BetterSqlite3Like {
  prepare(text: string): {
    /** Whether the statement returns rows. */
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

/** Runs a statement synchronously, so that no statement of the app can run before it returns. */
type Run = (text: string, values?: unknown[]) => StatementResult

/**
 * Keeps lock statements out of the app's transactions on SQLite. TypeORM has a single connection to it, so a lock would join the
 * app's open transaction and vanish when that is rolled back. A file is therefore opened a second time. An in-memory database has
 * no second connection: there each lock statement is a transaction within one tick, and waits while the app has a transaction open.
 */
export function sqliteClient(dataSource: DataSourceLike): SqlClient {
  const { type, database } = dataSource.options
  // Read each time, because a DataSource replaces its driver when its options change.
  const driver = () => dataSource.driver as SqliteDriverLike
  const shared = (): Run =>
    type === 'sqljs'
      ? onSqlJs(driver().databaseConnection as SqlJsLike)
      : onBetterSqlite3(driver().databaseConnection as BetterSqlite3Like)
  const run = type === 'sqljs' || isInMemory(database) ? inTransaction(shared) : onSecondConnection(driver)
  const client = sqlClient(drivers.sqlite, async (text, values) => {
    checkInitialised(dataSource)
    const answer = await run(text, values)
    if (Number(answer.changed) > 0) await autoSave(driver())
    return answer
  })
  return { ...client, unusable: () => notInitialised(dataSource) }
}

function isInMemory(database: unknown): boolean {
  return typeof database !== 'string' || database === '' || /:memory:|mode=memory/.test(database)
}

function onSecondConnection(
  driver: () => SqliteDriverLike,
): (text: string, values: unknown[]) => Promise<StatementResult> {
  const open = async () => {
    const database = await driver().createDatabaseConnection()
    // better-sqlite3 is synchronous: with a positive timeout, waiting for the app's own write lock would block the event loop.
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
        // Some errors, such as a full disk, have already rolled it back. Report the first error.
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
    // The statement was executed but not saved, so it is unknown whether its effect survives a restart.
    throw new DriverError(undefined, error)
  }
}
