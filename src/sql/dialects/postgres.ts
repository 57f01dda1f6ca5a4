// The SQL that this dialect sends: test/sql/golden/postgres.sql
import type { Dialect, TableShape } from '../dialect'
import { readOutcome } from '../acquire'
import { nextToken, type LockSql } from '../expressions'
import { pinByRead } from '../pin'
import { sql, type Sql } from '../sql'

export const postgres: Dialect = {
  name: 'postgres',
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  longestIdentifier: 63,

  // Not now(), which is when the transaction began: clock_timestamp() is when the row is written.
  now: sql`date_trunc('millisecond', clock_timestamp() at time zone 'UTC')`,
  plus: (time, milliseconds) => sql`${time} + ${milliseconds}::float8 * interval '1 millisecond'`,
  epoch: sql`timestamp '1970-01-01'`,
  // Limits the time, because infinity is not a number, and a `Date` cannot hold the last years of the calendar.
  epochMilliseconds: (time) =>
    sql`round(extract(epoch from least(greatest(${time}, timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint`,
  // Without the cast: error 42P08, could not determine data type of parameter.
  text: (parameter) => sql`${parameter}::varchar`,
  hex: (text) => sql`encode(convert_to(${text}, 'UTF8'), 'hex')`,
  readOnly: sql`pg_is_in_recovery()::int`,

  // If the row is held, the statement only reads. A plain upsert locks the row even if it loses, and costs a transaction id, WAL
  // and a flush (measured on PostgreSQL 15: 96 bytes and twice the time).
  acquire: (dialect, lock) => {
    const { table, name, lockUntil, lockedAt, lockedBy, lockName, isNamed, now, leaseEnd, owner } = lock
    const statement = sql`
      insert into ${table} as held (${name}, ${lockUntil}, ${lockedAt}, ${lockedBy})
      select ${lockName}, ${leaseEnd}, ${now}, ${owner}
      where not exists (select 1 from ${table} where ${isNamed} and ${lockUntil} > ${now})
      on conflict (${name}) do update
      set ${lockUntil} = ${leaseEnd}, ${lockedAt} = ${nextToken(dialect, sql`held.${lockedAt}`)}, ${lockedBy} = ${owner}
      where held.${lockUntil} <= ${now}`
    return [{ answer: 'acquired or held', statement }]
  },
  // Also returns why it changed nothing.
  acquireSlot: (dialect, lock) => {
    const { table, name, lockUntil, lockedAt, lockedBy, lockName, now, leaseEnd, slot, owner } = lock
    const statement = sql`
      with shedlock_seen as (${readOutcome(dialect, lock)}),
      shedlock_acquired as (
        insert into ${table} as held (${name}, ${lockUntil}, ${lockedAt}, ${lockedBy})
        select ${lockName}, ${leaseEnd}, ${slot}, ${owner} from shedlock_seen where "outcome" = 'free'
        on conflict (${name}) do update
        set ${lockUntil} = ${leaseEnd}, ${lockedAt} = ${slot}, ${lockedBy} = ${owner}
        where held.${lockUntil} <= ${now} and held.${lockedAt} < ${slot}
        returning 1)
      select case when exists (select 1 from shedlock_acquired) then 'acquired' else "outcome" end as "outcome" from shedlock_seen`
    return [{ answer: 'outcome', statement }]
  },

  // The commit of this one statement does not wait for the disk or for a replica. `true` limits the setting to the statement, so
  // the session is left as it was, even behind a pooler. https://www.postgresql.org/docs/current/wal-async-commit.html
  release: (table, assignment, condition) => sql`
    with shedlock_commit as materialized (select set_config('synchronous_commit', 'off', true) as shedlock_synchronous)
    update ${table} set ${assignment} from shedlock_commit where ${condition} and shedlock_synchronous = 'off'`,

  // The weakest row lock that blocks the UPDATE of a successor; transactions of one holder can share it.
  pin: pinByRead({ column: idleNoLongerThanLease, clause: 'for share' }),

  // https://www.postgresql.org/docs/current/errcodes-appendix.html
  transientErrors: {
    '23505': 'unique_violation: another session inserted the row first (only without ON CONFLICT)',
    '40001': 'serialization_failure: another session wrote first, under REPEATABLE READ or SERIALIZABLE',
    '40P01': 'deadlock_detected: this session was chosen to give way',
    '55P03': 'lock_not_available: lock_timeout is set, and another session keeps the row or the table',
  },
  readOnlyErrors: {
    '25006': 'read_only_sql_transaction: a standby, a former primary, or default_transaction_read_only',
  },

  ddl: {
    conditional: true,
    text: (length) => `varchar(${length})`,
    time: 'timestamp(3)',
    alterColumn: (table, column, type, before) => {
      // Converts to UTC whatever the session's time zone. Unlike `at time zone`, it has the same result when it is run twice: the
      // seconds of a timestamp without a zone are counted as if it were UTC.
      const using = /^timestamp.* with time zone/.test(before.type)
        ? ` using to_timestamp(extract(epoch from ${column})) at time zone 'UTC'`
        : ''
      return `alter table ${table} alter column ${column} type ${type}${using}, alter column ${column} set not null`
    },
    // `if not exists` checks before it creates the table, and fails on the unique index of pg_type if another session is faster.
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

  shape: {
    describe: describeColumns(sql`(
    select count(*) from pg_catalog.pg_index i
    where i.indrelid = a.attrelid and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null
      and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)::int`),
    schemasOf: (table) => sql`
    select n.nspname::text as table_schema
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relname = ${table}::text and c.relkind in ('r', 'p', 'v')
      and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
    order by n.nspname`,
    // Not citext: its unique index ignores case, but a comparison with a varchar does not, so `job` would acquire the row of `Job`,
    // and not find it to release it. Not with a time zone, which would be the session's: a holder in UTC would not exclude a
    // session in New York.
    types: { text: /^(character varying|text|character)/, time: /^timestamp(\([3-6]\))? without time zone$/ },
  },

  inspection: {
    // No address: the connection is a local socket.
    server: sql`coalesce(host(inet_server_addr()) || ' port ' || inet_server_port(), 'a local socket')`,
    database: sql`current_database()::text`,
    schema: sql`current_schema()::text`,
    grantee: sql`quote_ident(current_user)`,
    denied: ['42501'],
    session: sql`pg_backend_pid()`,
    settings: [
      {
        name: 'read-only server',
        read: sql`select current_setting('transaction_read_only')`,
        wrong: /^on$/,
        severity: 'error',
        message: 'it is a standby or a former primary, and accepts no lock – connect to the primary',
      },
      {
        name: 'synchronous standby',
        read: sql`
          select case when current_setting('synchronous_standby_names') = '' and exists (select 1 from pg_catalog.pg_stat_replication)
            then 'none' else 'ok' end`,
        wrong: /none/,
        severity: 'warning',
        message:
          'all standbys are asynchronous, so a failover may lose a lock that was just acquired, and two callers hold it – set synchronous_standby_names, or accept that',
      },
      {
        name: 'transaction isolation',
        read: sql`select current_setting('default_transaction_isolation')`,
        wrong: /repeatable read|serializable/,
        severity: 'warning',
        message:
          'each lost race leaves an error 40001 in the log of the server, and is retried – use read committed, which is enough',
        fix: (grantee) => `alter role ${grantee} set default_transaction_isolation = 'read committed'`,
      },
      {
        name: 'synchronous commit',
        read: sql`select current_setting('synchronous_commit')`,
        wrong: /^(off|local)$/,
        severity: 'warning',
        message:
          'a crash of the server or a failover may lose a lock that was just acquired – switch synchronous_commit on for this user',
        fix: (grantee) => `alter role ${grantee} set synchronous_commit = on`,
      },
    ],
  },
}

/** Reads the columns of a table. @param uniqueKeys how many unique indexes are on attribute `a` alone */
export function describeColumns(uniqueKeys: Sql): TableShape['describe'] {
  return (schema, table) => sql`
    select a.attname::text as column_name, format_type(a.atttypid, a.atttypmod) as column_type,
      nullif(a.atttypmod, -1) - 4 as max_length, case when a.attnotnull then 0 else 1 end as nullable,
      ${uniqueKeys} as unique_keys, n.nspname::text as table_schema
    from pg_catalog.pg_attribute a
      join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where a.attrelid = to_regclass(
        case when ${schema}::text is null then '' else quote_ident(${schema}::text) || '.' end || quote_ident(${table}::text))
      and a.attnum > 0 and not a.attisdropped`
}

/**
 * Makes the server end the transaction if it is idle at the end of the lease. Otherwise a suspended or disconnected process would
 * pin the row until TCP gives up, hours later. A shorter timeout of the session is kept, and the setting ends with the transaction.
 */
function idleNoLongerThanLease({ lockUntil, now }: LockSql): Sql {
  return sql`set_config('idle_in_transaction_session_timeout', least(
    ceil(extract(epoch from ${lockUntil} - ${now}) * 1000), 2147483647,
    (select nullif(setting::int, 0) from pg_catalog.pg_settings where name = 'idle_in_transaction_session_timeout')
  )::bigint::text, true)`
}
