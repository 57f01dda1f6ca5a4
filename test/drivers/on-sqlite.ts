import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import type { SqlClient } from '../../src/sql/session'

/** A database of better-sqlite3, which has no types here. */
export interface SqliteFile {
  prepare(text: string): {
    readonly reader: boolean
    all(...values: unknown[]): unknown[]
    run(...values: unknown[]): { readonly changes: number }
  }
  exec(text: string): unknown
}

/** Runs the statements of a lock as an app without an ORM does. @param answered called after each write */
export function onSqlite(
  file: SqliteFile,
  answered: () => Promise<void> = () => Promise.resolve(),
): SqlClient {
  return sqlClient(drivers.sqlite, async (text, values) => {
    const statement = file.prepare(text)
    if (statement.reader) return { rows: statement.all(...values) as [] }
    const { changes } = statement.run(...values)
    await answered()
    return { rows: [], changed: changes }
  })
}
