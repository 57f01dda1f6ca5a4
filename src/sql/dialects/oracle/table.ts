import { sql } from '../../sql'
import type { TableDialect } from '../../dialect'

export const oracleTable: TableDialect = {
  conditional: false,
  text: (length) => `varchar2(${length} char)`,
  time: 'timestamp(3)',

  // Table or view does not exist, invalid identifier.
  absent: ['ORA-00942', 'ORA-00904'],

  database: sql`sys_context('userenv', 'db_name')`,
  schema: sql`sys_context('userenv', 'current_schema')`,
  grantee: sql`'"' || user || '"'`,
  // For a user without any privilege on a table, the table does not exist: ORA-00942.
  denied: ['ORA-01031', 'ORA-00942', 'ORA-41900'],
}
