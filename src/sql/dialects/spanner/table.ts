import { SCHEMA, sql, TABLE } from '../../sql'
import type { TableDialect } from '../../dialect'

export const spannerTable: TableDialect = {
  conditional: true,
  text: (length) => `string(${length})`,
  time: 'timestamp',
  primaryKeyAfterColumns: true,

  // TypeORM sends values without types, and a null without a type is refused.
  defaultSchema: '',

  // In upper case, because TypeORM opens a transaction unless a statement begins with SELECT, and inside a transaction this one
  // is refused.
  describe: sql`
  SELECT c.column_name as column_name, c.spanner_type as column_type,
    safe_cast(regexp_extract(c.spanner_type, '[0-9]+') as int64) as max_length,
    case c.is_nullable when 'YES' then 1 else 0 end as nullable,
    (select count(*) from information_schema.indexes i
      where i.table_schema = c.table_schema and i.table_name = c.table_name and i.is_unique
        and exists (
          select 1 from information_schema.index_columns k
          where k.table_schema = i.table_schema and k.table_name = i.table_name and k.index_name = i.index_name
            and k.column_name = c.column_name and k.ordinal_position = 1)
        and not exists (
          select 1 from information_schema.index_columns o
          where o.table_schema = i.table_schema and o.table_name = i.table_name and o.index_name = i.index_name
            and o.ordinal_position > 1)) as unique_keys
  from information_schema.columns c
  where c.table_schema = ${SCHEMA} and c.table_name = ${TABLE}`,
  types: { text: /^STRING\(/, time: /^TIMESTAMP$/ },

  // PERMISSION_DENIED is left out: IAM decides who may write, so there is no SQL to suggest.
  denied: [],
}
