import type { Answer, BoundValue } from '../drivers'
import type { Row } from '../sql'
import type { DataSourceLike } from './data-source-like'

/** One SQLite connection, used synchronously: what happens in one tick cannot be mixed with the app's own statements. */
export interface SqliteConnection {
  run(text: string, values?: readonly BoundValue[]): Answer
  close(): void
}

/** What this library uses of better-sqlite3. */
export interface BetterSqlite3Like {
  readonly open: boolean
  prepare(text: string): {
    /** Whether it has a result. */
    readonly reader: boolean
    run(...values: unknown[]): { changes: number }
    all(...values: unknown[]): unknown[]
  }
  close(): unknown
}

/** What this library uses of sql.js. */
export interface SqlJsLike {
  prepare(text: string): {
    getColumnNames(): unknown[]
    bind(values: unknown[]): unknown
    step(): boolean
    getAsObject(): Row
    free(): unknown
  }
  getRowsModified(): number
  close(): unknown
}

/** The raw connection under TypeORM's driver. */
export function rawConnection(dataSource: DataSourceLike): unknown {
  return (dataSource.driver as { databaseConnection: unknown }).databaseConnection
}

export function betterSqlite3Connection(database: BetterSqlite3Like): SqliteConnection {
  const prepared = new Map<string, ReturnType<BetterSqlite3Like['prepare']>>()
  const prepare = (text: string): ReturnType<BetterSqlite3Like['prepare']> => {
    const statement = prepared.get(text) ?? database.prepare(text)
    prepared.set(text, statement)
    return statement
  }
  return {
    run: (text, values = []) => {
      const statement = prepare(text)
      return statement.reader
        ? { rows: statement.all(...values) as Row[], changed: 0 }
        : { rows: [], changed: statement.run(...values).changes }
    },
    close: () => {
      database.close()
    },
  }
}

export function sqlJsConnection(database: SqlJsLike): SqliteConnection {
  return {
    run: (text, values = []) => {
      const statement = database.prepare(text)
      try {
        statement.bind([...values])
        const rows = []
        while (statement.step()) rows.push(statement.getAsObject())
        const isRead = statement.getColumnNames().length > 0
        return { rows, changed: isRead ? 0 : database.getRowsModified() }
      } finally {
        statement.free()
      }
    },
    close: () => {
      database.close()
    },
  }
}
