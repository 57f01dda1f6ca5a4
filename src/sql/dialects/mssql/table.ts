import { sql } from '../../sql'
import type { TableDialect } from '../../dialect'

export const mssqlTable: TableDialect = {
  conditional: false,
  namedPrimaryKey: true,
  // Binary, so that `Job`, `job` and `jób` are three locks. Under the default collation, at least the first two would be one.
  text: (length) => `nvarchar(${length}) collate Latin1_General_100_BIN2`,
  time: 'datetime2(3)',
  collation: 'Latin1_General_100_BIN2',

  // Invalid object name, invalid column name.
  absent: ['208', '207', 'TableDoesNotExist', 'ColumnNotFound'],

  database: sql`db_name()`,
  schema: sql`schema_name()`,
  grantee: sql`quotename(user_name())`,
  isInTransaction: sql`select case when @@trancount > 0 then 1 else 0 end as is_open`,
  // permission was denied on the object, on the column, in the database
  denied: ['229', '230', '262'],
}
