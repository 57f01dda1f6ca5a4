import type { DialectName } from '../sql'
import { runPrepared } from './mysql-statement'
import type { RunStatement } from './data-source-like'

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
  sap: 'hana',
  spanner: 'spanner',
}

const runPlain: RunStatement = (queryRunner, text, values) => queryRunner.query(text, values, true)

/** How a statement is run on the connection of a query runner. */
export const RUN_STATEMENT: Readonly<Record<DialectName, RunStatement>> = {
  postgres: runPlain,
  cockroachdb: runPlain,
  mysql: runPrepared,
  mariadb: runPrepared,
  sqlite: runPlain,
  mssql: runPlain,
  oracle: runPlain,
  hana: runPlain,
  // All that does not begin with SELECT gets a transaction, and its locks.
  spanner: (queryRunner, text, values) => runPlain(queryRunner, text.replace(/^select /, 'SELECT '), values),
}
