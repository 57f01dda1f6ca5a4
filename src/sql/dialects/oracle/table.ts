import { sql } from '../../sql'
import type { TableDialect } from '../../table/dialect'

export const oracleTable: TableDialect = {
  conditional: false,
  text: (length) => `varchar2(${length} char)`,
  time: 'timestamp(3)',

  // The table is in the schema itself, or where a synonym points. Unquoted names in the result would be upper case. The views
  // show only what the user may see, so keys count only in the user's own schema: unique indexes, and constraints, which may use
  // another index.
  describe: (schema, table) => {
    const owner = sql`coalesce(${schema}, sys_context('userenv', 'current_schema'))`
    return sql`
    select c.column_name as "column_name", c.data_type as "column_type", c.char_length as "max_length",
      case c.nullable when 'Y' then 1 else 0 end as "nullable",
      case when c.owner = user then (
        select count(*) from all_ind_columns k join all_indexes i on i.owner = k.index_owner and i.index_name = k.index_name
        where k.table_owner = c.owner and k.table_name = c.table_name and k.column_name = c.column_name
          and k.column_position = 1 and i.uniqueness = 'UNIQUE'
          and not exists (
            select 1 from all_ind_columns o
            where o.index_owner = k.index_owner and o.index_name = k.index_name and o.column_position > 1)
      ) + (
        select count(*) from all_cons_columns k
          join all_constraints n on n.owner = k.owner and n.constraint_name = k.constraint_name
        where k.owner = c.owner and k.table_name = c.table_name and k.column_name = c.column_name
          and n.constraint_type in ('P', 'U') and n.status = 'ENABLED' and n.deferrable = 'NOT DEFERRABLE'
          and not exists (
            select 1 from all_cons_columns o
            where o.owner = k.owner and o.constraint_name = k.constraint_name and o.column_name <> k.column_name)
      ) end as "unique_keys"
    from all_tab_columns c
    where (c.owner, c.table_name) in (
      select ${owner}, ${table} from dual
      union all
      select table_owner, table_name from all_synonyms
      where synonym_name = ${table} and owner in (${owner}, 'PUBLIC'))`
  },
  schemasOf: (table) =>
    sql`select owner as "table_schema" from all_tables where table_name = ${table} order by owner`,
  // Not CHAR, which is padded with blanks, and then differs from the name. Not DATE, which has no fractions. Not WITH TIME ZONE,
  // with which UTC would be read as the session's time.
  types: { text: /^N?VARCHAR2$/, time: /^TIMESTAMP\([3-9]\)$/ },

  database: sql`sys_context('userenv', 'db_name')`,
  schema: sql`sys_context('userenv', 'current_schema')`,
  grantee: sql`'"' || user || '"'`,
  // For a user without any privilege on a table, the table does not exist: ORA-00942.
  denied: ['ORA-01031', 'ORA-00942', 'ORA-41900'],
}
