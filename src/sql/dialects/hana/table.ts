import { sql } from '../../sql'
import type { TableDialect } from '../../dialect'

export const hanaTable: TableDialect = {
  // HANA Cloud has `if not exists`, but older servers do not.
  conditional: false,
  text: (length) => `nvarchar(${length})`,
  time: 'timestamp',

  // Invalid table name, invalid column name, invalid schema name.
  absent: ['259', '260', '362'],

  schema: sql`current_schema`,
  grantee: sql`'"' || current_user || '"'`,
  // insufficient privilege
  denied: ['258'],
}
