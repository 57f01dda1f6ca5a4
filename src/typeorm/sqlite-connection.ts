import type { DataSourceLike } from './data-source-like'

/** One SQLite connection, used synchronously: what happens in one tick cannot be mixed with the app's own statements. */
export interface SqliteConnection {
  /** @returns how many rows were changed */
  run(text: string, parameters: readonly unknown[]): number
  all(text: string, parameters: readonly unknown[]): Record<string, unknown>[]
  close(): void
}

/** What this library uses of better-sqlite3. */
export interface BetterSqlite3Like {
  readonly open: boolean
  prepare(text: string): {
    run(...parameters: unknown[]): { changes: number }
    all(...parameters: unknown[]): unknown[]
  }
  close(): unknown
}

/** What this library uses of sql.js. */
export interface SqlJsLike {
  prepare(text: string): {
    bind(parameters: unknown[]): unknown
    step(): boolean
    getAsObject(): Record<string, unknown>
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
    run: (text, parameters) => prepare(text).run(...parameters).changes,
    all: (text, parameters) => prepare(text).all(...parameters) as Record<string, unknown>[],
    close: () => {
      database.close()
    },
  }
}

export function sqlJsConnection(database: SqlJsLike): SqliteConnection {
  const all = (text: string, parameters: readonly unknown[]): Record<string, unknown>[] => {
    const statement = database.prepare(text)
    try {
      statement.bind([...parameters])
      const rows = []
      while (statement.step()) rows.push(statement.getAsObject())
      return rows
    } finally {
      statement.free()
    }
  }
  return {
    run: (text, parameters) => {
      all(text, parameters)
      return database.getRowsModified()
    },
    all,
    close: () => {
      database.close()
    },
  }
}
