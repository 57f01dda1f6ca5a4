import { createRequire } from 'node:module'
import { folderOf, installPackage } from './install-package'

const VERSION = '6.0.1'

/** Is built from source where no prebuilt binary can be downloaded. */
export function installSqlite3(): Promise<string> {
  return installPackage('sqlite3', VERSION, { scripts: ['sqlite3'] })
}

/** Options of TypeORM 0.3 for the package sqlite3. */
export function sqlite3Options() {
  const load = createRequire(`${folderOf('sqlite3', VERSION)}/package.json`)
  return { type: 'sqlite', driver: load('sqlite3') as unknown } as const
}
