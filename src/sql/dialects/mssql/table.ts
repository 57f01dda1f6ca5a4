import { sql } from '../../sql'
import type { TableDialect } from '../../table/dialect'

export const mssqlTable: TableDialect = {
  conditional: false,
  namedPrimaryKey: true,
  // Binary, so that `Job`, `job` and `jób` are three locks. Under the default collation, at least the first two would be one.
  text: (length) => `nvarchar(${length}) collate Latin1_General_100_BIN2`,
  time: 'datetime2(3)',
  collation: 'Latin1_General_100_BIN2',

  // object_id() finds the table as a statement would: in the user's default schema, or else in dbo.
  describe: (schema, table) => sql`
  select c.name as column_name,
    type_name(c.system_type_id) + case when c.scale > 0 then concat('(', c.scale, ')') else '' end as column_type,
    case when c.max_length > 0 and type_name(c.system_type_id) like 'n%' then c.max_length / 2 else c.max_length end as max_length,
    cast(c.is_nullable as int) as nullable,
    case when @@options & 2 = 2 then 0 else 1 end as autocommit,
    (select count(*) from sys.indexes i
      where i.object_id = c.object_id and i.is_unique = 1 and i.is_disabled = 0 and i.has_filter = 0
        and exists (
          select 1 from sys.index_columns k
          where k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal = 1 and k.column_id = c.column_id)
        and not exists (
          select 1 from sys.index_columns o
          where o.object_id = i.object_id and o.index_id = i.index_id and o.key_ordinal > 1)) as unique_keys,
    object_schema_name(c.object_id) as table_schema
  from sys.columns c
  where c.object_id = object_id(coalesce(quotename(${schema}) + '.', '') + quotename(${table}))`,
  schemasOf: (table) => sql`
  select object_schema_name(t.object_id) as table_schema from sys.tables t where t.name = ${table} order by table_schema`,
  // Not datetime, which counts in steps of 3.3 ms. Not datetimeoffset, whose zone would be lost in comparisons.
  types: { text: /^n?(var)?char$/, time: /^datetime2\([3-7]\)/ },
  doubtfulType: {
    pattern: /^(var)?char$/,
    why: "which stores characters outside its code page as '?', so that a lock with such a name is never found again and is held for ever",
  },

  database: sql`db_name()`,
  schema: sql`schema_name()`,
  grantee: sql`quotename(user_name())`,
  isInTransaction: sql`select case when @@trancount > 0 then 1 else 0 end as is_open`,
  // permission was denied on the object, on the column, in the database
  denied: ['229', '230', '262'],
}
