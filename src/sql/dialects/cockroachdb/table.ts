import { sql } from '../../sql'
import type { TableDialect } from '../../dialect'
import { postgresTable } from '../postgres/table'

/** CockroachDB reads and writes a table as PostgreSQL does, but for the following. */
export const cockroachdbTable: TableDialect = {
  conditional: true,
  text: postgresTable.text,
  time: postgresTable.time,
  createSchema: (schema) => `create schema if not exists ${schema}`,

  // undefined_table, undefined_column, invalid_schema_name
  absent: ['42P01', '42703', '3F000'],

  database: sql`current_database()`,
  schema: sql`current_schema()`,
  grantee: sql`quote_ident(current_user)`,
  denied: postgresTable.denied,
}
