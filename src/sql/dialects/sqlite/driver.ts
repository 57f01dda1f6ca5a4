import type { Driver } from '../../dialect'
import type { ErrorLike } from '../../driver'

/** https://www.sqlite.org/rescode.html */
const CODES: Readonly<Record<string, string>> = {
  '5': 'SQLITE_BUSY',
  '261': 'SQLITE_BUSY_RECOVERY',
  '517': 'SQLITE_BUSY_SNAPSHOT',
  '6': 'SQLITE_LOCKED',
  '262': 'SQLITE_LOCKED_SHAREDCACHE',
  '1555': 'SQLITE_CONSTRAINT_PRIMARYKEY',
  '2067': 'SQLITE_CONSTRAINT_UNIQUE',
}

/** Returns the name of a code that a driver reports as a number, as node:sqlite, libsql and the Rust engine of Prisma do. */
export function sqliteCode(number: string): string {
  return CODES[number] ?? 'SQLITE_ERROR'
}

/** better-sqlite3, node:sqlite, sqlite3 and libsql. */
export const sqliteDriver: Driver = {
  placeholder: () => '?',
  // Any other error is not SQLite's, such as that of a network on the way to it, so the statement may have been executed.
  errorCode: ({ code, errcode }: ErrorLike) => {
    if (code === 'ERR_SQLITE_ERROR') return sqliteCode(String(errcode))
    return typeof code === 'string' && code.startsWith('SQLITE_') ? code : undefined
  },
  notSent: () => false,
  lasts: () => false,
}
