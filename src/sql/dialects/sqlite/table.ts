import { SCHEMA, sql, TABLE } from '../../sql'
import type { TableDialect } from '../../dialect'

const WHERE = sql`coalesce(${SCHEMA}, 'main')`

export const sqliteTable: TableDialect = {
  conditional: true,
  text: (length) => `varchar(${length})`,
  time: 'datetime(3)',

  describe: sql`
    select c.name as column_name, c.type as column_type, c."notnull" = 0 as nullable,
      (select count(*) from pragma_index_list(${TABLE}, ${WHERE}) l
        where l."unique" and not l.partial
          and (select case count(*) when 1 then max(i.name) end from pragma_index_info(l.name, ${WHERE}) i) = c.name) as unique_keys
    from pragma_table_info(${TABLE}, ${WHERE}) c`,

  database: sql`(select file from pragma_database_list where name = 'main')`,
  denied: [],
  fileAccess: {
    // A write without a row needs no journal, so it would not fail.
    write: (table) => sql`reindex ${table.table}`,
    refused: /readonly|unable to open/,
    advice: 'let this user write the file and create others in its folder, as SQLite does for each write.',
  },
  // SQLite refuses this pragma in a transaction, and otherwise ignores it for temporary tables.
  failsInTransaction: sql`pragma temp.synchronous = 2`,
}
