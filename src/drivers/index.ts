import type { DialectName } from '../sql'
import type { Driver } from './driver'
import { hanaDriver } from './hana'
import { mssqlDriver } from './mssql'
import { mysqlDriver } from './mysql'
import { oracleDriver } from './oracle'
import { postgresDriver } from './postgres'
import { spannerDriver } from './spanner'
import { sqliteDriver } from './sqlite'

/** The driver that clients use for each database. */
export const drivers: Readonly<Record<DialectName, Driver>> = {
  postgres: postgresDriver,
  cockroachdb: postgresDriver,
  mysql: mysqlDriver,
  mariadb: mysqlDriver,
  sqlite: sqliteDriver,
  mssql: mssqlDriver,
  oracle: oracleDriver,
  hana: hanaDriver,
  spanner: spannerDriver,
}

export { numbered } from './driver'
export type { Driver } from './driver'
export { mssqlCode } from './mssql'
export { mysqlCode } from './mysql'
export { postgresCode } from './postgres'
export { sqliteName } from './sqlite'
