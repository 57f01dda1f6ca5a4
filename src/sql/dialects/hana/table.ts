import { sql } from '../../sql'
import type { TableDialect } from '../../table/dialect'

export const hanaTable: TableDialect = {
  // HANA Cloud has `if not exists`, but older servers do not.
  conditional: false,
  text: (length) => `nvarchar(${length})`,
  time: 'timestamp',

  // Unquoted names in the result would be upper case. The views show only what the user may see, so keys count only in the user's
  // own schema.
  describe: (schema, table) => sql`
  select c.column_name as "column_name", c.data_type_name as "column_type", c.length as "max_length",
    case c.is_nullable when 'TRUE' then 1 else 0 end as "nullable",
    case when c.schema_name = current_user then (select count(*) from sys.index_columns k
      where k.table_oid = c.table_oid and k.column_name = c.column_name
        and (k."CONSTRAINT" like 'PRIMARY%' or k."CONSTRAINT" like '%UNIQUE')
        and not exists (
          select 1 from sys.index_columns o where o.index_oid = k.index_oid and o.column_name <> k.column_name)
    ) end as "unique_keys"
  from sys.table_columns c
  where c.schema_name = coalesce(cast(${schema} as nvarchar(256)), current_schema)
    and c.table_name = cast(${table} as nvarchar(256))`,
  schemasOf: (table) => sql`
  select schema_name as "table_schema" from sys.tables where table_name = cast(${table} as nvarchar(256)) order by schema_name`,
  // Not SECONDDATE, which has no fractions. LONGDATE is another name for TIMESTAMP.
  types: { text: /^N?VARCHAR$/, time: /^(TIMESTAMP|LONGDATE)$/ },

  schema: sql`current_schema`,
  grantee: sql`'"' || current_user || '"'`,
  // insufficient privilege
  denied: ['258'],
}
