import { promisify } from 'node:util'
import { clientError, type LockError } from '../core/internal'
import {
  drivers,
  onBetterSqlite3,
  openSqliteFile,
  sqlClient,
  type BetterSqlite3Like,
  type Driver,
  type DriverSession,
  type RunAtOnce,
  type RunStatement,
} from '../drivers/internal'
import { DriverError, type SqlClient, type SqlRow, type StatementResult } from '../sql/internal'
import { DATABASE_TYPES, type DataSourceLike } from './data-source-like'
import { unusableUnlessInitialised } from './query-runner-client'

/** What this library uses of TypeORM's SQLite drivers. */
interface SqliteDriverLike {
  readonly options: object
  /** The app's connection. */
  readonly databaseConnection: object
  /** Opens the file a second time. sql.js has no files. */
  createDatabaseConnection(): Promise<BetterSqlite3Like | Sqlite3Like>
  /** Saves sql.js's in-memory database, if the DataSource has the option `autoSave`. */
  autoSave?(): Promise<void>
}

/** What this library uses of sqlite3, which runs its statements in threads. */
interface Sqlite3Like {
  all(text: string, values: unknown[], done: (error: Error | null, rows: SqlRow[]) => void): unknown
  run(
    text: string,
    values: unknown[],
    done: (this: { changes: number }, error: Error | null) => void,
  ): unknown
  /** Runs one statement after another from now on. */
  serialize(): unknown
  close(done: () => void): unknown
}

/** What this library uses of sql.js. */
interface SqlJsLike {
  prepare(text: string): {
    getColumnNames(): unknown[]
    bind(values: readonly unknown[]): unknown
    step(): boolean
    getAsObject(): SqlRow
    free(): unknown
  }
  getRowsModified(): number
}

/** These libraries run in this process, so they always answer. Some errors have no code, such as those of sql.js. */
const inProcess: Driver = {
  ...drivers.sqlite,
  errorCode: (error) => drivers.sqlite.errorCode(error) ?? 'SQLITE_ERROR',
}

// Not the function pragma_database_list, because a select reads the schema, and waits for a writer with the app's own patience.
const READ_FILE = 'pragma database_list'

/**
 * Keeps lock statements out of the app's transactions on SQLite. TypeORM has a single connection to it, so a lock would join the
 * app's open transaction and vanish when that is rolled back. A file is therefore opened a second time. An in-memory database has no
 * second connection: there each lock statement is a transaction within one tick, and waits while the app has a transaction open.
 *
 * @throws LockError `INVALID_CLIENT` for an in-memory database of sqlite3, where other statements run between two of a transaction
 */
export function sqliteClient(dataSource: DataSourceLike): SqlClient {
  const { type, database } = dataSource.options
  const isThreaded = 'isThreaded' in (DATABASE_TYPES[type] ?? {})
  const isInMemory = database === ':memory:' || type === 'sqljs'
  if (isThreaded && isInMemory) throw inMemoryError()
  // Read each time, because a DataSource replaces its driver when its options change.
  const driver = () => dataSource.driver as SqliteDriverLike
  const openAgain = async (path: string): Promise<{ run: RunStatement; close: () => unknown }> => {
    // better-sqlite3 is synchronous: with a positive timeout, waiting for the app's own write lock would block the event loop. The
    // app's connection has already set the journal mode, which the file keeps.
    const own = { database: path, timeout: 0, busyTimeout: 0, enableWAL: false }
    const options = { value: { ...driver().options, ...own } }
    const other = Object.create(driver(), { options }) as SqliteDriverLike
    const connection = await other.createDatabaseConnection()
    if (!isThreaded) {
      const opened = connection as BetterSqlite3Like
      const run = onBetterSqlite3(opened)
      // The app's own `prepareDatabase` may have set others. With the second, a write returns a row instead of its count.
      run('pragma busy_timeout = 0')
      run('pragma count_changes = 0')
      // oxlint-disable-next-line typescript/require-await -- what it throws becomes a rejection
      return { run: async (text, values) => run(text, values), close: () => opened.close() }
    }
    const opened = connection as Sqlite3Like
    opened.serialize()
    // sqlite3 would wait for a second, in one of the few threads that all of the process shares.
    await allOf(opened, 'pragma busy_timeout = 0')
    return { run: onSqlite3(opened), close: () => opened.close(() => undefined) }
  }
  const connect = async (): Promise<DriverSession> => {
    const { databaseConnection: opened } = driver()
    if (type === 'sqljs')
      return { run: inTransaction(onSqlJs(opened as SqlJsLike), () => driver().autoSave?.()) }
    const run = onBetterSqlite3(opened as BetterSqlite3Like)
    const { rows } = isThreaded ? await allOf(opened as Sqlite3Like, READ_FILE) : run(READ_FILE)
    // Absolute, whatever the working directory is now; empty for an in-memory database.
    const path = String(rows.find(({ name }) => name === 'main')?.['file'])
    if (path !== '') return openSqliteFile(path, () => openAgain(path))
    if (isThreaded) throw inMemoryError()
    return { run: inTransaction(run) }
  }
  const { open, ...client } = sqlClient(inProcess, {
    pool: dataSource,
    unusable: unusableUnlessInitialised(dataSource),
    source: () => driver().databaseConnection,
    connect,
    open: connect,
  })
  // In memory, a session is no connection of its own. None has a socket that must be read before it connects.
  return isInMemory && open ? { ...client, connect: open } : { ...client, open }
}

function inMemoryError(): LockError {
  return clientError(
    "A lock in an in-memory database of TypeORM's type 'sqlite' would join the app's transactions – use the type 'better-sqlite3' or a file; in unit tests, InMemoryLockProvider.",
  )
}

/** @param save called after a statement that changed rows */
function inTransaction(run: RunAtOnce, save?: () => Promise<void> | undefined): RunStatement {
  return async (text, values) => {
    try {
      run('begin')
    } catch (error) {
      throw new DriverError('SQLITE_BUSY', error)
    }
    let answer
    try {
      answer = run(text, values)
      run('commit')
    } catch (error) {
      try {
        run('rollback')
      } catch {
        // Some errors, such as a full disk, have already rolled it back. Report the first error.
      }
      throw error
    }
    if (Number(answer.changed) > 0)
      await save?.()?.catch((error: unknown) => {
        // The statement was executed but not saved, so it is unknown whether its effect survives a restart.
        throw new DriverError(undefined, error)
      })
    return answer
  }
}

function onSqlite3(database: Sqlite3Like): RunStatement {
  return (text, values, _, wants) =>
    // Only run() counts, and only all() reads.
    wants === 'rows'
      ? allOf(database, text, values)
      : new Promise((resolve, reject) => {
          database.run(text, values, function (error) {
            if (error) reject(error)
            else resolve({ rows: [], changed: this.changes })
          })
        })
}

async function allOf(database: Sqlite3Like, text: string, values: unknown[] = []): Promise<StatementResult> {
  const all = promisify(database.all.bind(database))
  return { rows: await all(text, values) }
}

function onSqlJs(database: SqlJsLike): RunAtOnce {
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
