import type { ChaosDatabase } from './chaos-database'
import { mysqlLikeDatabase } from './mysql-like-database'
import { MARIADB, MYSQL } from '../servers/mysql-programs'
import { postgresDatabase } from './postgres-database'
import { sqliteDatabase } from './sqlite-database'
import { urlDatabase } from './url-database'

/**
 * Creates a private database with the lock table and a resource for each of the names, on a server of its own or on the one at the
 * URL.
 */
type MakeDatabase = (names: readonly string[], url?: string) => Promise<ChaosDatabase>

export const DATABASES = {
  postgres: postgresDatabase,
  mariadb: (names, url) => mysqlLikeDatabase(MARIADB, names, url),
  mysql: (names, url) => mysqlLikeDatabase(MYSQL, names, url),
  sqlite: sqliteDatabase,
  cockroachdb: (names, url) => urlDatabase('cockroachdb', names, url),
  mssql: (names, url) => urlDatabase('mssql', names, url),
  oracle: (names, url) => urlDatabase('oracle', names, url),
} satisfies Record<string, MakeDatabase>
