import { decidingUpsert, either, guardedUpsert } from '../acquire-forms'
import type { Dialect } from '../dialect'
import type { LockTable } from '../lock-table'
import { pinByRead } from '../pin-forms'
import { sql, type Statement } from '../statement'

export const postgres: Dialect = {
  name: 'postgres',
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  longestIdentifier: 63,

  // Not now(): that is when the transaction began. clock_timestamp() is when the row is written.
  now: sql`date_trunc('millisecond', clock_timestamp() at time zone 'UTC')`,
  plus: (time, milliseconds) => sql`${time} + ${milliseconds}::float8 * interval '1 millisecond'`,
  epoch: sql`timestamp '1970-01-01'`,
  epochMilliseconds: (time) => sql`round(extract(epoch from ${time}) * 1000)::bigint`,
  // Without the cast: 42P08, could not determine data type of parameter.
  text: (parameter) => sql`${parameter}::varchar`,

  acquire: [either(guardedUpsert, decidingUpsert)],

  // For this one statement the commit does not wait for the disk or for a replica; `true` makes it end with the
  // statement, so the session is left as it was, behind a pooler too.
  // https://www.postgresql.org/docs/current/wal-async-commit.html
  unlock: (table, assignment, condition) => sql`
    with shedlock_commit as materialized (select set_config('synchronous_commit', 'off', true) as shedlock_synchronous)
    update ${table} set ${assignment} from shedlock_commit where ${condition} and shedlock_synchronous = 'off'`,

  // The weakest row lock that keeps out the UPDATE of a successor; transactions of one holder share it.
  pin: pinByRead({ column: idleNoLongerThanLease, clause: 'for share' }),

  // https://www.postgresql.org/docs/current/errcodes-appendix.html
  errors: {
    conflict: {
      '23505': 'unique_violation: another session made the row first (only without ON CONFLICT)',
      '40001': 'serialization_failure: another session wrote first, under REPEATABLE READ or SERIALIZABLE',
      '40P01': 'deadlock_detected: this session was chosen to give way',
      '55P03': 'lock_not_available: lock_timeout is set and another session has the row',
    },
    busy: {
      NAME_REFUSED:
        'the statement is not known by its name any more: it was not executed, and is asked without',
    },
  },

  ddl: {
    conditional: true,
    columns: {
      name: 'varchar(64) not null',
      lockUntil: 'timestamp(3) not null',
      lockedAt: 'timestamp(3) not null',
      lockedBy: 'varchar(255) not null',
    },
    alterColumn: (table, column, definition, type) => {
      const newType = definition.replace(' not null', '')
      // In UTC whatever the session's zone; and, unlike `at time zone`, the same again when it is run twice: the seconds of
      // a timestamp without a zone are counted as if it were UTC.
      const using = /^timestamp.* with time zone/.test(type)
        ? ` using to_timestamp(extract(epoch from ${column})) at time zone 'UTC'`
        : ''
      return `alter table ${table} alter column ${column} type ${newType}${using}, alter column ${column} set not null`
    },
    // `if not exists` looks before it makes the table, and fails on pg_type's unique index when another session is faster.
    createTogether: (createTable) => {
      let quote = '$shedlock$'
      while (createTable.includes(quote)) quote = quote.replace(/\$$/, '_$')
      return [
        `do ${quote}`,
        'begin',
        `${createTable.replace(/^/gm, '  ')};`,
        'exception when unique_violation or duplicate_table or duplicate_object then null;',
        'end',
        quote,
      ].join('\n')
    },
    createSchema: (schema) => `create schema if not exists ${schema}`,
  },

  describe: describeColumns(sql`(
    select count(*) from pg_catalog.pg_index i
    where i.indrelid = a.attrelid and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null
      and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)::int`),
  types: {
    // Not citext: it is unique without case and, compared with a varchar, different with it, so that `job` would take the
    // row of `Job` and not find it to free it.
    name: /^(character varying|text|character)/,
    // A zone would be the session's: a holder in UTC would not keep out a session in New York.
    lockUntil: /^timestamp(\([3-6]\))? without time zone$/,
    lockedAt: /^timestamp(\([3-6]\))? without time zone$/,
    lockedBy: /^(character varying|text|character|citext)/,
  },

  inspection: {
    grantee: sql`quote_ident(current_user)`,
    denied: ['42501'],
    session: sql`pg_backend_pid()`,
    settings: [
      {
        name: 'transaction isolation',
        ask: sql`select current_setting('default_transaction_isolation')`,
        wrong: /repeatable read|serializable/,
        severity: 'warning',
        message:
          'each lost race is an error 40001 in the log of the server, and is retried – read committed is enough',
        fix: (grantee) => `alter role ${grantee} set default_transaction_isolation = 'read committed'`,
      },
      {
        name: 'synchronous commit',
        ask: sql`select current_setting('synchronous_commit')`,
        wrong: /^off$/,
        severity: 'warning',
        message: 'a crash of the server may lose a lock that it has just given – switch it on for this user',
        fix: (grantee) => `alter role ${grantee} set synchronous_commit = on`,
      },
    ],
  },
}

/** @param uniqueKeys how many unique indexes are on attribute `a` alone */
export function describeColumns(uniqueKeys: Statement): Dialect['describe'] {
  return (schema, table) => sql`
    select a.attname::text as column_name, format_type(a.atttypid, a.atttypmod) as column_type,
      nullif(a.atttypmod, -1) - 4 as max_length, case when a.attnotnull then 0 else 1 end as nullable,
      ${uniqueKeys} as unique_keys
    from pg_catalog.pg_attribute a
    where a.attrelid = to_regclass(
        case when ${schema}::text is null then '' else quote_ident(${schema}::text) || '.' end || quote_ident(${table}::text))
      and a.attnum > 0 and not a.attisdropped`
}

/**
 * A paused or cut-off process would pin the row until TCP gives up, hours later. So the server ends the transaction
 * when it is idle at the end of the lease; a shorter timeout of the session stands. Undone at the transaction's end.
 */
function idleNoLongerThanLease({ now }: Dialect, { lockUntil }: LockTable) {
  return sql`set_config('idle_in_transaction_session_timeout', least(
    ceil(extract(epoch from ${lockUntil} - ${now}) * 1000), 2147483647,
    (select nullif(setting::int, 0) from pg_catalog.pg_settings where name = 'idle_in_transaction_session_timeout')
  )::bigint::text, true)`
}
