import { configurationError } from '../../core/internal'
import type { Dialect, DialectName } from '../dialect'
import { cockroachdb } from './cockroachdb/lock'
import { cockroachdbTable } from './cockroachdb/table'
import { hanaDriver } from './hana/driver'
import { hana } from './hana/lock'
import { hanaTable } from './hana/table'
import { mssqlDriver } from './mssql/driver'
import { mssql } from './mssql/lock'
import { mssqlTable } from './mssql/table'
import { mysqlDriver } from './mysql/driver'
import { mysql } from './mysql/lock'
import { mysqlTable } from './mysql/table'
import { oracleDriver } from './oracle/driver'
import { oracle } from './oracle/lock'
import { oracleTable } from './oracle/table'
import { postgresDriver } from './postgres/driver'
import { postgres } from './postgres/lock'
import { postgresTable } from './postgres/table'
import { spannerDriver } from './spanner/driver'
import { spanner } from './spanner/lock'
import { spannerTable } from './spanner/table'
import { sqliteDriver } from './sqlite/driver'
import { sqlite } from './sqlite/lock'
import { sqliteTable } from './sqlite/table'

// The registration of the dialects. A new one has a folder with its `lock`, `table` and `driver`, and a line in each of the two lists.

/** The dialects by name. */
export const dialects: { readonly [Name in DialectName]: Dialect & { readonly name: Name } } = {
  postgres: { ...postgres, name: 'postgres', table: postgresTable, driver: postgresDriver },
  cockroachdb: { ...cockroachdb, name: 'cockroachdb', table: cockroachdbTable, driver: postgresDriver },
  mysql: { ...mysql, name: 'mysql', table: mysqlTable, driver: mysqlDriver },
  // Locks work in the same way on MariaDB and MySQL, so it does not matter which of the two names a client gives.
  mariadb: { ...mysql, name: 'mariadb', table: mysqlTable, driver: mysqlDriver },
  sqlite: { ...sqlite, name: 'sqlite', table: sqliteTable, driver: sqliteDriver },
  mssql: { ...mssql, name: 'mssql', table: mssqlTable, driver: mssqlDriver },
  oracle: { ...oracle, name: 'oracle', table: oracleTable, driver: oracleDriver },
  hana: { ...hana, name: 'hana', table: hanaTable, driver: hanaDriver },
  spanner: { ...spanner, name: 'spanner', table: spannerTable, driver: spannerDriver },
}

/**
 * Returns an argument as a dialect. It may be a changed copy of one.
 *
 * @throws LockError `INVALID_CONFIGURATION` if it is none, such as an object that has only the name of one
 */
export function parseDialect(dialect: { readonly name: DialectName }): Dialect {
  if (typeof (dialect as Partial<Dialect> | undefined)?.acquire === 'function') return dialect as Dialect
  const known = Object.keys(dialects).map((name) => `dialects.${name}`)
  throw configurationError(`This is not a dialect – pass one of dialects: ${known.join(', ')}.`)
}

/**
 * Returns the dialect that an option names.
 *
 * @throws LockError `INVALID_CONFIGURATION` if there is none of that name
 */
export function dialectNamed(name: DialectName): Dialect {
  if (Object.hasOwn(dialects, name)) return dialects[name]
  throw configurationError(
    `There is no dialect '${name}' – the known dialects are ${Object.keys(dialects).join(', ')}.`,
  )
}
