import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drivers } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { databaseFailure } from '../command-error'
import { loadDriver, type CliDriver } from './driver'

type BetterSqlite3 = new (
  path: string,
  options: object,
) => {
  prepare(text: string): {
    readonly reader: boolean
    all(...values: unknown[]): SqlRow[]
    run(...values: unknown[]): { changes: number }
  }
  close(): unknown
}

/** Uses better-sqlite3. */
export const sqliteDriver: CliDriver = {
  ...drivers.sqlite,
  open: async (url, create) => {
    const Database = loadDriver(['better-sqlite3'], ['@prisma/adapter-better-sqlite3', 'typeorm'])
      .exports as BetterSqlite3
    const file = sqliteFile(url)
    if (!create && !existsSync(file))
      throw databaseFailure(
        `There is no SQLite file ${file} – correct the path; this command does not create it.`,
      )
    const database = await Promise.resolve(new Database(file, { timeout: 5_000 }))
    return {
      query: (text, values) =>
        Promise.resolve().then(() => {
          const statement = database.prepare(text)
          return statement.reader
            ? { rows: statement.all(...values), changed: 0 }
            : { rows: [], changed: statement.run(...values).changes }
        }),
      close: () => Promise.resolve(database.close()),
    }
  },
}

/** Accepts `file:./dev.db` as Prisma writes it, `file:///…` and `sqlite:…`. */
function sqliteFile(url: string): string {
  if (url.startsWith('file:///')) return fileURLToPath(url.replace(/\?.*/, ''))
  return resolve(url.replace(/^(file|sqlite):(\/\/)?/, '').replace(/\?.*/, ''))
}
