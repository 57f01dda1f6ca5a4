import { sql } from '../../sql'
import type { TableDialect } from '../../dialect'
import { describeColumns, postgresTable, regclass } from '../postgres/table'

/** CockroachDB reads and writes a table as PostgreSQL does, but for the following. */
export const cockroachdbTable: TableDialect = {
  conditional: true,
  text: postgresTable.text,
  time: postgresTable.time,
  createSchema: (schema) => `create schema if not exists ${schema}`,

  // Its pg_index was not examined, so it stays unknown whether there is a unique index.
  describe: describeColumns(regclass, sql`null`),
  types: postgresTable.types,

  database: sql`current_database()`,
  schema: sql`current_schema()`,
  grantee: sql`quote_ident(current_user)`,
  denied: postgresTable.denied,
}
