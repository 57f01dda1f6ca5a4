import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { drivers } from '../../drivers'
import type { Row } from '../../sql'
import { CommandError, ExitCode } from '../exit-code'
import type { CliDriver } from './driver'
import { loadDriver } from './load-driver'

type BetterSqlite3 = new (
  path: string,
  options: object,
) => {
  prepare(text: string): {
    readonly reader: boolean
    all(...values: unknown[]): Row[]
    run(...values: unknown[]): { changes: number }
  }
  close(): unknown
}

/** Through better-sqlite3. */
export const sqliteDriver: CliDriver = {
  ...drivers.sqlite,
  open: async (url, create) => {
    const Database = loadDriver(['better-sqlite3'], ['@prisma/adapter-better-sqlite3', 'typeorm'])
      .exports as BetterSqlite3
    const file = path(url)
    if (!create && !existsSync(file))
      throw new CommandError(
        ExitCode.database,
        `There is no SQLite file ${file} – correct the path; this command does not create it.`,
      )
    const database = await Promise.resolve(new Database(file, { timeout: 5_000 }))
    return {
      query: (text, values) => {
        const statement = database.prepare(text)
        return Promise.resolve(
          statement.reader
            ? { rows: statement.all(...values), changed: 0 }
            : { rows: [], changed: statement.run(...values).changes },
        )
      },
      close: () => {
        database.close()
        return Promise.resolve()
      },
    }
  },
}

/** `file:./dev.db` as Prisma has it, `file:///…`, `sqlite:…`. */
function path(url: string): string {
  if (url.startsWith('file:///')) return fileURLToPath(url.replace(/\?.*/, ''))
  return url.replace(/^(file|sqlite):(\/\/)?/, '').replace(/\?.*/, '')
}
