import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL, fileURLToPath } from 'node:url'
import { DataSource, type DataSourceOptions } from 'typeorm'

/** A SQLite file in a folder that is deleted when the demo ends. */
export function temporarySqliteFile(): { readonly url: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-demo-'))
  return {
    url: pathToFileURL(join(folder, 'demo.sqlite')).href,
    remove: () => {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** An initialised DataSource for `file:`, `postgres:`, `mysql:` and `mariadb:` URLs. */
export function connect(
  url: string,
  more: Pick<DataSourceOptions, 'entities' | 'synchronize'> = {},
): Promise<DataSource> {
  return new DataSource({ ...options(url), ...more }).initialize()
}

function options(url: string): DataSourceOptions {
  const scheme = new URL(url).protocol
  switch (scheme) {
    case 'file:':
      return { type: 'better-sqlite3', database: fileURLToPath(url), enableWAL: true }
    case 'postgres:':
    case 'postgresql:':
      return { type: 'postgres', url }
    case 'mysql:':
      return { type: 'mysql', url }
    case 'mariadb:':
      return { type: 'mariadb', url }
    default:
      throw new Error(`--db takes a postgres:, mysql: or mariadb: URL, not ${scheme}`)
  }
}
