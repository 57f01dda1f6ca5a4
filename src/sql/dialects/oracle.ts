// The SQL that this dialect sends: test/sql/golden/oracle.sql
import type { Dialect } from '../dialect'
import { readHolder, readOutcome, updateBeforeSlot, updateFree } from '../acquire'
import { readOnlyColumn, type LockSql } from '../expressions'
import { pinByRead } from '../pin'
import { sql, type Sql } from '../sql'

/** Inserts the row if it does not exist. If another session is about to insert it, waits for that and fails with ORA-00001. */
function insertMissing(lock: LockSql, locked: Sql): Sql {
  const { table, name, lockUntil, lockedAt, lockedBy, lockName, isNamed, leaseEnd, owner } = lock
  return sql`
    insert into ${table} (${name}, ${lockUntil}, ${lockedAt}, ${lockedBy})
    select ${lockName}, ${leaseEnd}, ${locked}, ${owner} from dual
    where not exists (select 1 from ${table} where ${isNamed})`
}

export const oracle: Dialect = {
  name: 'oracle',
  quote: (identifier) => `"${identifier}"`,
  longestIdentifier: 128,
  // https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/Database-Object-Names-and-Qualifiers.html
  notInIdentifiers: /"/,
  upperCaseNames: true,

  // The cast rounds, so subtract half a millisecond to cut instead. In UTC, whatever the session's time zone.
  now: sql`cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))`,
  // A timestamp plus a number would be a DATE, which has whole seconds.
  plus: (time, milliseconds) => sql`${time} + numtodsinterval(${milliseconds} / 1000, 'second')`,
  epoch: sql`timestamp '1970-01-01 00:00:00'`,
  epochMilliseconds: (time) => {
    const since1970 = sql`(${time} - timestamp '1970-01-01 00:00:00')`
    return sql`
      extract(day from ${since1970}) * 86400000 + extract(hour from ${since1970}) * 3600000
      + extract(minute from ${since1970}) * 60000 + extract(second from ${since1970}) * 1000`
  },
  text: (parameter) => parameter,
  readOnly: sql`case when sys_context('userenv', 'database_role') like '%STANDBY%' then 1 else 0 end`,

  // Reads do not wait here. Not one MERGE: an update that waited for a row starts again if its WHERE is no longer true, but what a
  // MERGE does then was only observed (it watches its SET columns), and is not documented.
  acquire: (dialect, lock) => [
    { answer: 'refusal', statement: readHolder(dialect, lock) },
    { answer: 'acquired', statement: updateFree(dialect, lock) },
    { answer: 'acquired', statement: insertMissing(lock, lock.now) },
  ],
  acquireSlot: (dialect, lock) => [
    { answer: 'refusal', statement: readOutcome(dialect, lock, readOnlyColumn(dialect)) },
    { answer: 'acquired', statement: updateBeforeSlot(lock) },
    { answer: 'acquired', statement: insertMissing(lock, lock.slot) },
  ],

  // Oracle has no shared locks on rows, so two guarded transactions of one task wait for each other.
  pin: pinByRead({ clause: 'for update' }),

  // https://docs.oracle.com/error-help/db/
  transientErrors: {
    'ORA-00001': 'unique constraint violated: another session inserted the row first',
    'ORA-08177': "can't serialize access: another session wrote first, under SERIALIZABLE",
    'ORA-00060': 'deadlock detected: this session was chosen to give way',
    'ORA-30006': 'resource busy, WAIT timeout expired: another session has the row',
    'ORA-00054': 'resource busy and NOWAIT: another session has the table',
  },
  readOnlyErrors: { 'ORA-16000': 'database or pluggable database open for read-only access: a standby' },

  ddl: {
    conditional: false,
    text: (length) => `varchar2(${length} char)`,
    time: 'timestamp(3)',
    // `not null` is refused for a column that is already not null: ORA-01442.
    alterColumn: (table, column, type, { nullable }) =>
      `alter table ${table} modify (${column} ${type}${nullable ? ' not null' : ''})`,
    // A plain string would be read in the session's own format of times.
    addColumn: (table, column, type, value) =>
      `alter table ${table} add (${column} ${type} default ${type.startsWith('timestamp') ? 'timestamp ' : ''}${value} not null)`,
  },

  shape: {
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
  },

  inspection: {
    from: sql`from dual`,
    server: sql`sys_context('userenv', 'server_host')`,
    database: sql`sys_context('userenv', 'db_name')`,
    schema: sql`sys_context('userenv', 'current_schema')`,
    grantee: sql`'"' || user || '"'`,
    // For a user without any privilege on a table, the table does not exist: ORA-00942.
    denied: ['ORA-01031', 'ORA-00942', 'ORA-41900'],
  },
}
