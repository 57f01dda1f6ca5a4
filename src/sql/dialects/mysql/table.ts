import { raw, SCHEMA, sql, TABLE, type Sql } from '../../sql'
import { FEW_CONNECTIONS, type TableDialect } from '../../dialect'

/** The user of this connection, as `grant … to` expects it, and as the server lists privileges. */
const GRANTEE = sql`concat(quote(substring_index(current_user(), '@', 1)), '@', quote(substring_index(current_user(), '@', -1)))`

/** Text of a catalogue, whose binary collations some clients mistake for bytes. */
const text = (column: string): Sql => sql`convert(${raw(column)} using utf8mb4)`

/** Matches the table in these columns of a catalogue. */
const here = (schema: string, table: string): Sql =>
  sql`${raw(schema)} = coalesce(${SCHEMA}, database()) and ${raw(table)} = ${TABLE}`

/** MySQL and MariaDB. */
export const mysqlTable: TableDialect = {
  conditional: true,
  text: (length) => `varchar(${length})`,
  // Not TIMESTAMP, which is converted with the session's time zone, has a gap in spring, and ends in 2038.
  time: 'datetime(3)',
  // Binary, so that `Job`, `job` and `jób` are three locks. Both MySQL and MariaDB have utf8mb4_bin.
  tableOptions: 'engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin',
  collation: 'utf8mb4_bin',
  createSchema: (schema) => `create schema if not exists ${schema}`,

  describe: sql`
    select ${text('c.column_name')} as column_name, ${text('c.column_type')} as column_type, c.character_maximum_length as max_length,
      case c.is_nullable when _utf8mb4'YES' then 1 else 0 end as nullable,
      ${text('c.table_schema')} as table_schema, c.extra like _utf8mb4'%on update%' as on_update,
      (select count(*) from information_schema.statistics s
        where ${here('s.table_schema', 's.table_name')} and s.non_unique = 0 and s.sub_part is null and s.column_name = c.column_name
          and not exists (
            select 1 from information_schema.statistics o
            where ${here('o.table_schema', 'o.table_name')} and o.index_name = s.index_name and o.seq_in_index > 1)) as unique_keys
    from information_schema.columns c
    where ${here('c.table_schema', 'c.table_name')}`,
  obstacles: sql`
    select case when table_type like '%VIEW' then 'view' when table_type like 'TEMP%' then 'temporary' else 'engine' end as what,
      ${text('coalesce(engine, table_name)')} as name
    from information_schema.tables
    where ${here('table_schema', 'table_name')} and (table_type not in ('BASE TABLE', 'SYSTEM VERSIONED') or engine <> 'InnoDB')
    union all select 'trigger', ${text('trigger_name')}
    from information_schema.triggers where ${here('event_object_schema', 'event_object_table')}`,
  // Not BINARY, which is padded with zero bytes, and then differs from the name. Without fractions, rounding could shorten the lease
  // by up to half a second. Tables of Java services have TIMESTAMP.
  types: { text: /^(var)?char|^varbinary|text/, time: /^(datetime|timestamp)\([3-6]\)/ },
  doubtfulType: {
    pattern: /^timestamp/,
    why: 'which is right only as long as all sessions have one time zone without daylight saving, and ends in 2038',
  },

  schema: sql`database()`,
  grantee: GRANTEE,
  // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR
  denied: ['1044', '1142', '1143'],
  engineOf: sql`select ${text('engine')} as engine from information_schema.tables where ${here('table_schema', 'table_name')}`,
  isInTransaction: sql`select coalesce(/*M! @@in_transaction + 0, */ -1) as is_open`,
  // Without SESSION it is for the next transaction, so it fails in this one (1568); the value is what it is already.
  failsInTransaction: sql`set @@transaction_isolation = @@session.transaction_isolation`,
  settings: [
    {
      ...FEW_CONNECTIONS,
      // MySQL skips the first comment, MariaDB the second one.
      read: sql`
        select concat(case when most - used < 20 then 'few left: ' else '' end, used, ' of ', most, ' in use') as connections from (
          select cast(variable_value as signed) as used,
            least(@@max_connections, case when @@max_user_connections = 0 then @@max_connections else @@max_user_connections end) as most
          from /*M! information_schema.global_status */ /*!80000 performance_schema.global_status */
          where variable_name = 'Threads_connected') shedlock_connections`,
    },
    {
      name: 'read-only server',
      read: sql`select @@global.read_only as value`,
      // From MariaDB 12 on also NO_LOCK, which refuses even more.
      wrong: /^(?!(0|off)$)/i,
      severity: 'error',
      message:
        'it accepts no lock – connect to the primary, if this is a replica or a former primary; otherwise find out who switched read_only on, as some hosts do when the disk is full',
    },
    {
      name: 'privilege to write in spite of read_only',
      // Without a binary log there are no replicas, and the privilege does no harm.
      read: sql`
        select coalesce(if(@@log_bin, group_concat(privilege_type), null), 'none') as value from information_schema.user_privileges
        where grantee = ${GRANTEE} and (privilege_type in ('SUPER', 'CONNECTION_ADMIN') or privilege_type like 'READ%ONLY ADMIN')`,
      wrong: /[A-Z]/,
      severity: 'warning',
      message:
        'this user can write to a former primary too, so after a failover two callers could hold a lock – use a user without SUPER, CONNECTION_ADMIN and READ ONLY ADMIN, and super_read_only on replicas',
    },
    {
      name: 'consistency of the group',
      // Exists only with the Group Replication plugin.
      read: sql`show variables where variable_name = 'group_replication_consistency'`,
      wrong: /^EVENTUAL$/i,
      severity: 'warning',
      message:
        'after a failover a new primary may answer before it has applied the locks of the old one – set group_replication_consistency to BEFORE_ON_PRIMARY_FAILOVER',
      fix: () => "set global group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER'",
    },
    {
      name: 'galera',
      // Exists only on a server with Galera.
      read: sql`show variables where variable_name = 'wsrep_on'`,
      wrong: /^(on|1)$/i,
      severity: 'warning',
      message:
        'a Galera cluster answers before other nodes have a lock, may answer with an old row, and has lost transactions that it had confirmed (MDEV-38974, MDEV-38976, MDEV-38977, MDEV-38999) – send all locks to one node, and make each node flush at each commit',
    },
    {
      name: 'autocommit',
      read: sql`select @@autocommit as value`,
      wrong: /^0$/,
      severity: 'error',
      message:
        'no lock is ever committed, and its row stays locked – switch autocommit on for this user or globally',
      fix: () => 'set global autocommit = 1',
    },
    {
      name: 'flush at commit',
      // When the server restarts after a crash, it undoes transactions that are not in the binary log.
      read: sql`
        select concat('innodb_flush_log_at_trx_commit ', @@innodb_flush_log_at_trx_commit, if(@@log_bin, concat(', sync_binlog ', @@sync_binlog), '')) as value`,
      wrong: /commit [02]|binlog (?!1$)/,
      severity: 'warning',
      message:
        'a crash of the server may lose a lock that was just acquired – set innodb_flush_log_at_trx_commit to 1, and sync_binlog too, or do without the binary log',
      fix: () => 'set global innodb_flush_log_at_trx_commit = 1, global sync_binlog = 1',
    },
  ],
}
