import type { DialectName } from '../../sql'
import type { CliDriver } from './driver'
import { mssqlDriver } from './mssql-driver'
import { mysqlDriver } from './mysql-driver'
import { oracleDriver } from './oracle-driver'
import { postgresDriver } from './postgres-driver'
import { sqliteDriver } from './sqlite-driver'

/** The scheme of a URL tells the database. */
export const SCHEMES: Readonly<Record<string, { dialect: DialectName; driver: CliDriver }>> = {
  postgres: { dialect: 'postgres', driver: postgresDriver },
  postgresql: { dialect: 'postgres', driver: postgresDriver },
  cockroachdb: { dialect: 'cockroachdb', driver: postgresDriver },
  mysql: { dialect: 'mysql', driver: mysqlDriver },
  mariadb: { dialect: 'mariadb', driver: mysqlDriver },
  file: { dialect: 'sqlite', driver: sqliteDriver },
  sqlite: { dialect: 'sqlite', driver: sqliteDriver },
  sqlserver: { dialect: 'mssql', driver: mssqlDriver },
  mssql: { dialect: 'mssql', driver: mssqlDriver },
  oracle: { dialect: 'oracle', driver: oracleDriver },
}
export type { CliDriver, DriverConnection } from './driver'
