import { sql } from '../../sql'
import type { TableDialect } from '../dialect'
import { describeColumns, table as postgres } from './postgres'

/** CockroachDB reads and writes a table as PostgreSQL does, but for the following. */
export const table: TableDialect = {
  conditional: true,
  text: postgres.text,
  time: postgres.time,
  createSchema: (schema) => `create schema if not exists ${schema}`,

  // Its pg_index was not examined, so it stays unknown whether there is a unique index.
  describe: describeColumns(sql`null`),
  types: postgres.types,

  database: sql`current_database()`,
  schema: sql`current_schema()`,
  grantee: sql`quote_ident(current_user)`,
  denied: postgres.denied,
}
