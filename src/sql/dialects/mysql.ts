import type { Dialect } from '../dialect'
import { lookUpdateInsert, pinByRead } from '../fragments'
import { raw, sql, type Statement } from '../statement'

export const mysql: Dialect = {
  name: 'mysql',
  quote: (identifier) => `\`${identifier.replaceAll('`', '``')}\``,
  longestIdentifier: 64,
  // https://dev.mysql.com/doc/refman/8.4/en/identifiers.html
  notInIdentifiers: /[\u{10000}-\u{10FFFF}]/u,

  // Of the statement's start, in UTC whatever the session's time zone, and cut, not rounded.
  now: sql`utc_timestamp(3)`,
  plus: (time, milliseconds) => sql`${time} + interval ${milliseconds} * 1000 microsecond`,
  epoch: sql`timestamp '1970-01-01 00:00:00'`,
  epochMilliseconds: (time) => sql`timestampdiff(microsecond, '1970-01-01', ${time}) div 1000`,
  text: (parameter) => parameter,

  // Not `on duplicate key update`: with the driver's usual FOUND_ROWS flag it counts one row even when it left a held
  // lock alone. Not `insert ignore`: it cuts a name that is too long, and reports success. And never two of these in
  // one transaction: they deadlock (1213) by the thousand.
  // The look comes first because an update waits for the row's lock even when it finds the row held: behind a guarded
  // transaction, until its commit. It costs a winner a third more, and a loser less than half (measured on MariaDB 10.11).
  acquire: lookUpdateInsert,

  // Reads the newest row, whatever the isolation level. `for share` is not known to MariaDB.
  pin: pinByRead({ clause: 'lock in share mode' }),

  // https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
  transientErrors: {
    '1062': 'ER_DUP_ENTRY: another session made the row first',
    '3101': 'ER_TRANSACTION_ROLLBACK_DURING_COMMIT: another member wrote first (Group Replication)',
    '1020': 'ER_CHECKREAD: another session wrote first (MariaDB with innodb_snapshot_isolation)',
    '1213': 'ER_LOCK_DEADLOCK: this session was chosen to give way',
    '1205': 'ER_LOCK_WAIT_TIMEOUT: another session kept the row longer than innodb_lock_wait_timeout',
  },

  ddl: {
    conditional: true,
    text: (length) => `varchar(${length})`,
    // Not TIMESTAMP: that is converted with the session's time zone, has a gap in spring, and ends in 2038.
    time: 'datetime(3)',
    // Binary: `Job`, `job` and `jób` are three locks. utf8mb4_bin is what MySQL and MariaDB both have.
    tableOptions: 'engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin',
    collation: 'utf8mb4_bin',
    alterColumn: (table, column, type) =>
      `alter table ${table} modify ${column} ${type.replace(/^varchar.*/, '$& character set utf8mb4 collate utf8mb4_bin')} not null`,
    createSchema: (schema) => `create schema if not exists ${schema}`,
  },

  describe: (schema, table) => {
    const here = (alias: string): Statement =>
      sql`${raw(alias)}.table_schema = coalesce(${schema}, database()) and ${raw(alias)}.table_name = ${table}`
    return sql`
      select c.column_name as column_name, c.column_type as column_type, c.character_maximum_length as max_length,
        case c.is_nullable when 'YES' then 1 else 0 end as nullable, @@autocommit as autocommit,
        (select count(*) from information_schema.statistics s
          where ${here('s')} and s.non_unique = 0 and s.sub_part is null and s.column_name = c.column_name
            and not exists (
              select 1 from information_schema.statistics o
              where ${here('o')} and o.index_name = s.index_name and o.seq_in_index > 1)) as unique_keys
      from information_schema.columns c
      where ${here('c')}`
  },
  // Without fractions the lease would be rounded, up to half a second short. TIMESTAMP is in the tables of Java services.
  types: { text: /^(var)?(char|binary)|text/, time: /^(datetime|timestamp)\([3-6]\)/ },
  doubtfulType: {
    pattern: /^timestamp/,
    why: 'which is right only as long as all sessions have one time zone without daylight saving, and ends in 2038',
  },

  inspection: {
    schema: sql`database()`,
    grantee: sql`concat(quote(substring_index(current_user(), '@', 1)), '@', quote(substring_index(current_user(), '@', -1)))`,
    timeZone: {
      types: /^timestamp/,
      value: sql`@@session.time_zone`,
      set: (zone) => `set time_zone = '${zone}'`,
    },
    // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR
    denied: ['1044', '1142', '1143'],
    session: sql`connection_id()`,
    settings: [
      {
        name: 'transaction isolation',
        // MySQL and MariaDB each know one of the two.
        read: sql`show variables where variable_name in ('transaction_isolation', 'tx_isolation')`,
        wrong: /SERIALIZABLE/,
        severity: 'warning',
        message:
          'reads lock rows, so callers that skip may have to wait – use repeatable read or read committed, which is enough',
        fix: () => 'set global transaction isolation level repeatable read',
      },
      {
        name: 'galera',
        // Neither has it where Galera is not built in.
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
        read: sql`select @@innodb_flush_log_at_trx_commit as value`,
        wrong: /^[02]$/,
        severity: 'warning',
        message:
          'a crash of the server may lose a lock that was just acquired – set innodb_flush_log_at_trx_commit to 1',
        fix: () => 'set global innodb_flush_log_at_trx_commit = 1',
      },
      {
        name: 'flush of the binary log',
        // A transaction that is not in the binary log is undone when the server starts again after a crash.
        read: sql`select if(@@log_bin, @@sync_binlog, 1) as value`,
        wrong: /^(?!1$)/,
        severity: 'warning',
        message:
          'a crash of the server may lose a lock that was just acquired – set sync_binlog to 1, or do without the binary log',
        fix: () => 'set global sync_binlog = 1',
      },
    ],
  },
}

/** For the lock MariaDB and MySQL are one, so it does not matter which of the two names a client gives. */
export const mariadb: Dialect = { ...mysql, name: 'mariadb' }
