import { SCHEMA, sql, TABLE } from '../../sql'
import { FEW_CONNECTIONS, type TableDialect } from '../../dialect'

/**
 * The schemas of the search path with which the connection began, in their order: the app may have left another path, or another
 * role, which `$user` means then. https://www.postgresql.org/docs/current/runtime-config-client.html#GUC-SEARCH-PATH
 */
const OWN_PATH = sql`(
    select case part[2] when '$user' then session_user else coalesce(replace(part[1], '""', '"'), lower(part[2])) end as schema, position
    from pg_catalog.pg_settings, regexp_matches(replace(reset_val, '"$user"', '$user'), '"((?:[^"]|"")+)"|([^ ,"]+)', 'g')
      with ordinality as parts (part, position)
    where name = 'search_path') shedlock_path`

/** Finds the table: an unnamed schema is the first one of that path that has such a table. */
const OWN_TABLE = sql`(
    select to_regclass(quote_ident(shedlock_schemas.schema) || '.' || quote_ident(${TABLE}::text)) as shedlock_oid
    from (select ${SCHEMA}::text as schema, 0 as position where ${SCHEMA}::text is not null
      union all select schema, position from ${OWN_PATH} where ${SCHEMA}::text is null) shedlock_schemas
    where to_regclass(quote_ident(shedlock_schemas.schema) || '.' || quote_ident(${TABLE}::text)) is not null
    order by position limit 1)`

/** Finds the table under the search path of the session. */
const REGCLASS = sql`to_regclass(
    case when ${SCHEMA}::text is null then '' else quote_ident(${SCHEMA}::text) || '.' end || quote_ident(${TABLE}::text))`

export const postgresTable: TableDialect = {
  conditional: true,
  text: (length) => `varchar(${length})`,
  time: 'timestamp(3)',
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

  // An index whose collation is not the column's may ignore case. Collations 100, 950 and 951, which are "default", "C" and "POSIX",
  // never do: https://github.com/postgres/postgres/blob/REL_15_STABLE/src/include/catalog/pg_collation.dat
  describe: sql`
    select a.attname::text as column_name, format_type(a.atttypid, a.atttypmod) as column_type,
      nullif(a.atttypmod, -1) - 4 as max_length, case when a.attnotnull then 0 else 1 end as nullable,
      (select count(*) from pg_catalog.pg_index i
        where i.indrelid = a.attrelid and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null
          and i.indnkeyatts = 1 and i.indkey[0] = a.attnum
          and i.indcollation[0] in (a.attcollation, 100, 950, 951))::int as unique_keys, n.nspname::text as table_schema
    from pg_catalog.pg_attribute a
      join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where a.attrelid = ${OWN_TABLE}
      and a.attnum > 0 and not a.attisdropped`,
  // With what conflicts the lock of an update: https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-TABLES
  lockedByOthers: sql`
    select 1 as shedlock_one from pg_catalog.pg_locks
    where relation = ${REGCLASS} and pid <> pg_catalog.pg_backend_pid()
      and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
      and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`,
  obstacles: sql`
    with shedlock_class as (select oid, relname, relkind, relpersistence from pg_catalog.pg_class where oid = ${REGCLASS})
    select case relkind when 'v' then 'view' when 'm' then 'view' end as what, relname::text as name
    from shedlock_class where relkind in ('v', 'm')
    union all select case relpersistence when 'u' then 'unlogged' else 'temporary' end, relname::text
    from shedlock_class where relpersistence <> 'p'
    union all select 'policy', relname::text from shedlock_class where relkind in ('r', 'p') and row_security_active(oid)
    union all select 'trigger', tgname::text
    from pg_catalog.pg_trigger where tgrelid in (select oid from shedlock_class) and not tgisinternal
    union all select 'rule', rulename::text
    from pg_catalog.pg_rewrite where ev_class in (select oid from shedlock_class) and rulename <> '_RETURN'`,
  // Not citext: its unique index ignores case, but a comparison with a varchar does not, so `job` would acquire the row of `Job`,
  // and not find it to release it. Not with a time zone, which would be the session's: a holder in UTC would not exclude a
  // session in New York.
  types: { text: /^(character varying|text|character)/, time: /^timestamp(\([3-6]\))? without time zone$/ },

  database: sql`current_database()::text`,
  schema: sql`(select schema::text from ${OWN_PATH} where to_regnamespace(quote_ident(schema)) is not null order by position limit 1)`,
  sessionSchema: sql`current_schema()::text`,
  grantee: sql`quote_ident(current_user)`,
  denied: ['42501'],
  // Locking the row has given the transaction a number.
  isInTransaction: sql`select (pg_catalog.txid_current_if_assigned() is not null)::int as is_open`,
  settings: [
    {
      ...FEW_CONNECTIONS,
      read: sql`
        select concat(case when most - used < 20 then 'few left: ' end, used, ' of ', most, ' in use') from (
          select count(*) filter (where backend_type = 'client backend') as used, least(
            current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
            (select nullif(rolconnlimit, -1) from pg_catalog.pg_roles where rolname = current_user)) as most
          from pg_catalog.pg_stat_activity) shedlock_connections`,
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
      name: 'confirmation of commits',
      read: sql`
        select case when current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local')
          and not exists (select 1 from pg_catalog.pg_stat_replication) then 'awaited in vain' else 'ok' end`,
      wrong: /vain/,
      severity: 'error',
      message:
        'no synchronous standby is connected, so no commit ends, and locks end with TIMEOUT – bring one back, or change synchronous_standby_names',
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
}
