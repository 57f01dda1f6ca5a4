import type { Driver } from './driver'

/** Some drivers give SQLite's result codes as numbers: https://www.sqlite.org/rescode.html */
const NAMES: Readonly<Record<string, string>> = {
  '5': 'SQLITE_BUSY',
  '261': 'SQLITE_BUSY_RECOVERY',
  '517': 'SQLITE_BUSY_SNAPSHOT',
  '6': 'SQLITE_LOCKED',
  '262': 'SQLITE_LOCKED_SHAREDCACHE',
  '1555': 'SQLITE_CONSTRAINT_PRIMARYKEY',
  '2067': 'SQLITE_CONSTRAINT_UNIQUE',
}

/** The name of a result code, if it is one that matters here. */
export function sqliteName(code: string): string | undefined {
  return NAMES[code]
}

/** better-sqlite3, and sql.js, which has no codes. */
export const sqliteDriver: Driver = {
  placeholder: () => '?',
  // It always answers.
  errorCode: (error) => {
    const { code } = error as { code?: unknown }
    return typeof code === 'string' && code.startsWith('SQLITE_') ? code : 'SQLITE_ERROR'
  },
}
