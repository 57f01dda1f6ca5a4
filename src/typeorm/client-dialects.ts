import type { DialectName } from '../sql'

/** TypeORM's names for the databases that have a dialect here. */
export const CLIENT_DIALECTS: Readonly<Record<string, DialectName>> = {
  postgres: 'postgres',
  'aurora-postgres': 'postgres',
  mysql: 'mysql',
  'aurora-mysql': 'mysql',
  mariadb: 'mariadb',
  'better-sqlite3': 'sqlite',
  sqljs: 'sqlite',
  cockroachdb: 'cockroachdb',
  mssql: 'mssql',
  oracle: 'oracle',
}
