/**
 * The database drivers: how each spells placeholders and says errors, and with that a `SqlExecutor` for any client on top.
 *
 * @module shedlock-orm/drivers
 */
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

export type { Driver } from './driver'
export { sqlExecutor } from './sql-executor'
export type { Answer, BoundValue } from './sql-executor'

/** @internal for `shedlock-orm/prisma` */
export { numbered } from './driver'
/** @internal for `shedlock-orm/prisma` */
export { mssqlCode } from './mssql'
/** @internal for `shedlock-orm/prisma` */
export { mysqlCode } from './mysql'
/** @internal for `shedlock-orm/prisma` and `shedlock-orm/typeorm` */
export { isNameRefused, NAME_REFUSED, postgresCode, statementName } from './postgres'
/** @internal for `shedlock-orm/prisma` */
export { sqliteName } from './sqlite'
