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

export const runPlain: RunStatement = (queryRunner, text, values) => queryRunner.query(text, values, true)

/** Where a statement is not run by the query runner's own `query`. */
export const RUN_STATEMENT: Readonly<Partial<Record<DialectName, RunStatement>>> = {
  mysql: runPrepared,
  mariadb: runPrepared,
  // All that does not begin with SELECT gets a transaction, and its locks.
  spanner: (queryRunner, text, values) => runPlain(queryRunner, text.replace(/^select /, 'SELECT '), values),
}
