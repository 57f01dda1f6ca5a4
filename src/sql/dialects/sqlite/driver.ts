import type { Driver, ErrorLike } from '../../driver'

/** better-sqlite3, and sql.js, whose errors have no codes. */
export const sqliteDriver: Driver = {
  placeholder: () => '?',
  // SQLite always answers.
  errorCode: ({ code }: ErrorLike) =>
    typeof code === 'string' && code.startsWith('SQLITE_') ? code : 'SQLITE_ERROR',
  notSent: () => false,
  lasts: () => false,
}
