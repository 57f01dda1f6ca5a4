import type { Dialect } from '../dialect'
import { insertMissing, lookHeld, pinByRead, takeExpired } from '../lock-statements'
import { sql } from '../statement'

export const oracle: Dialect = {
  name: 'oracle',
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  longestIdentifier: 128,
  upperCaseNames: true,

  // Half a millisecond less, because the cast rounds: so it cuts. In UTC whatever the session's time zone.
  now: sql`cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))`,
  // A timestamp plus a number would be a DATE, of whole seconds.
  plus: (time, milliseconds) => sql`${time} + numtodsinterval(${milliseconds} / 1000, 'second')`,
  epochMilliseconds: (time) => {
    const since1970 = sql`(${time} - timestamp '1970-01-01 00:00:00')`
    return sql`
      extract(day from ${since1970}) * 86400000 + extract(hour from ${since1970}) * 3600000
      + extract(minute from ${since1970}) * 60000 + extract(second from ${since1970}) * 1000`
  },
  text: (parameter) => parameter,

  // Reading waits for nobody here. Not one MERGE: an update that waited for a row starts again when its WHERE is true no
  // more, but what a MERGE does then is seen (it watches its SET columns) and not documented.
  acquire: [lookHeld, takeExpired, insertMissing],

  // There are no shared locks on rows: two guarded transactions of one task wait for each other.
  pin: pinByRead({ clause: 'for update' }),

  // https://docs.oracle.com/error-help/db/
  errors: {
    conflict: {
      'ORA-00001': 'unique constraint violated: another session made the row first',
      'ORA-00060': 'deadlock detected: this session was chosen to give way',
      'ORA-08177': "can't serialize access: another session wrote first, under SERIALIZABLE",
      'ORA-30006': 'resource busy, WAIT timeout expired: another session has the row',
      'ORA-00054': 'resource busy and NOWAIT: another session has the table',
    },
    busy: {},
  },

  ddl: {
    conditional: false,
    columns: {
      name: 'varchar2(64 char) not null',
      lockUntil: 'timestamp(3) not null',
      lockedAt: 'timestamp(3) not null',
      lockedBy: 'varchar2(255 char) not null',
    },
    alterColumn: (table, column, definition) => `alter table ${table} modify (${column} ${definition})`,
  },

  // In the schema itself, or where a synonym leads to. Without quotes the names of the result would be upper case.
  describe: (schema, table) => {
    const owner = sql`coalesce(${schema}, sys_context('userenv', 'current_schema'))`
    return sql`
      select column_name as "column_name", data_type as "column_type" from all_tab_columns
      where (owner, table_name) in (
        select ${owner}, ${table} from dual
        union all
        select table_owner, table_name from all_synonyms
        where synonym_name = ${table} and owner in (${owner}, 'PUBLIC'))`
  },
  types: {
    // Not CHAR: it is filled with blanks, and then not equal to the name.
    name: /^N?VARCHAR2$/,
    // Not DATE: it has no fractions. Not WITH TIME ZONE: UTC would be read as the session's time.
    lockUntil: /^TIMESTAMP\([3-9]\)$/,
    lockedAt: /^TIMESTAMP\([3-9]\)$/,
    lockedBy: /^N?VARCHAR2$/,
  },

  inspection: {
    from: sql`from dual`,
    grantee: sql`'"' || user || '"'`,
    // Without any privilege on a table it does not exist: ORA-00942.
    denied: ['ORA-01031', 'ORA-00942', 'ORA-41900'],
  },
}
