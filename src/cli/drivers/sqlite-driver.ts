import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drivers, onBetterSqlite3, type BetterSqlite3Like } from '../../drivers/internal'
import { databaseFailure } from '../command-error'
import { loadDriver, type CliDriver } from './driver'
import { openLibsql, type Libsql } from './libsql-driver'

type BetterSqlite3 = new (path: string, options: object) => BetterSqlite3Like

/** Uses better-sqlite3 or @libsql/client. */
export const sqliteDriver: CliDriver = {
  ...drivers.sqlite,
  packages: ['better-sqlite3', '@libsql/client'],
  via: ['@prisma/adapter-better-sqlite3', '@prisma/adapter-libsql'],
  open: async (url, create) => {
    const { name, exports } = loadDriver(sqliteDriver)
    const file = sqliteFile(url)
    if (!create) checkFile(file)
    if (name === '@libsql/client') return openLibsql(exports as Libsql, `file:${file}`)
    const database = built(() => new (exports as BetterSqlite3)(file, { timeout: 5_000 }))
    const run = onBetterSqlite3(database)
    // oxlint-disable-next-line typescript/require-await -- what it throws becomes a rejection
    return { run: async (text, values) => run(text, values), close: () => database.close() }
  },
}

/** @throws CommandError if the library has no binary that runs here; the error of SQLite, or of the path, which is a TypeError */
function built<T>(open: () => T): T {
  try {
    return open()
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (error instanceof TypeError || String(code).startsWith('SQLITE_')) throw error
    const [why] = (error as Error).message.split('\n')
    throw databaseFailure(
      `better-sqlite3 does not run: ${why} – let its build run (with pnpm: pnpm approve-builds), or install @libsql/client.`,
    )
  }
}

/** @throws CommandError if there is no such file, which every library would create */
export function checkFile(file: string): void {
  if (!existsSync(file))
    throw databaseFailure(
      `There is no SQLite file ${file} – create it with your migrations, or correct the path.`,
    )
}

/** Accepts `file:./dev.db` as Prisma writes it, `file:///…` and `sqlite:…`. */
function sqliteFile(url: string): string {
  if (url.startsWith('file:///')) return fileURLToPath(url)
  return resolve(url.replace(/^(file|sqlite):(\/\/)?/, '').replace(/\?.*/, ''))
}
