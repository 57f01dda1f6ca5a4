import type { SqlRow, StatementResult } from '../sql/internal'

// Everything that is special about better-sqlite3.

/** What this library uses of a connection. */
export interface BetterSqlite3Like {
  prepare(text: string): {
    /** Whether the statement returns rows. */
    readonly reader: boolean
    run(...values: unknown[]): { changes: number }
    all(...values: unknown[]): unknown[]
  }
  close(): unknown
}

/** Runs a statement synchronously, so that no statement of the app can run before it returns. */
export type RunAtOnce = (text: string, values?: readonly unknown[]) => StatementResult

/** Prepares each statement once. */
export function onBetterSqlite3(database: BetterSqlite3Like): RunAtOnce {
  const prepared = new Map<string, ReturnType<BetterSqlite3Like['prepare']>>()
  return (text, values = []) => {
    const statement = prepared.get(text) ?? database.prepare(text)
    prepared.set(text, statement)
    return statement.reader
      ? { rows: statement.all(...values) as SqlRow[], changed: 0 }
      : { rows: [], changed: statement.run(...values).changes }
  }
}
