// The SQL that this dialect sends: test/sql/golden/hana.sql
import type { Dialect } from '../dialect'
import { readUpdateInsert } from '../acquire'
import { pinByRead } from '../pin'
import { sql } from '../sql'

/**
 * SAP HANA, according to its documentation:
 * https://help.sap.com/docs/hana-cloud-database/sap-hana-cloud-sap-hana-database-sql-reference-guide
 */
export const hana: Dialect = {
  name: 'hana',
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  longestIdentifier: 127,
  upperCaseNames: true,

  // The argument cuts the time to milliseconds. In UTC, whatever the server's time zone.
  now: sql`current_utctimestamp(3)`,
  // The unit is 100 nanoseconds.
  plus: (time, milliseconds) => sql`add_nano100(${time}, cast(${milliseconds} as bigint) * 10000)`,
  epoch: sql`to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')`,
  epochMilliseconds: (time) => sql`
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), ${time}) / 10000 as bigint)`,
  text: (parameter) => sql`cast(${parameter} as nvarchar(255))`,

  // Reads set no locks here. Each step is a statement of its own, and the update decides under the row's lock.
  ...readUpdateInsert,

  pin: pinByRead({ clause: 'for update' }),

  // https://help.sap.com/docs/hana-cloud-database/sap-hana-cloud-sap-hana-database-sql-reference-guide/sql-error-codes
  transientErrors: {
    '301': 'unique constraint violated: another session inserted the row first',
    '144': 'transaction rolled back by a unique constraint: another session inserted the row first',
    '138': 'transaction serialization failure: another session wrote first',
    '143': 'transaction serialization failure until timeout expires: another session wrote first',
    '146': 'resource busy and NOWAIT specified: another session has the row',
    '133': 'transaction rolled back by detected deadlock: this session was chosen to give way',
    '131': 'transaction rolled back by lock wait timeout: another session has the row',
    '142': 'too many concurrent transactions',
    '1038': 'rejected because the server is overloaded for the moment',
  },
  readOnlyErrors: {},

  ddl: {
    // HANA Cloud has `if not exists`, but older servers do not.
    conditional: false,
    text: (length) => `nvarchar(${length})`,
    time: 'timestamp',
    alterColumn: (table, column, type) => `alter table ${table} alter (${column} ${type} not null)`,
    addColumn: (table, column, type, value) =>
      `alter table ${table} add (${column} ${type} default ${value} not null)`,
  },

  shape: {
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
  },

  inspection: {
    from: sql`from dummy`,
    schema: sql`current_schema`,
    grantee: sql`'"' || current_user || '"'`,
    // insufficient privilege
    denied: ['258'],
  },
}
