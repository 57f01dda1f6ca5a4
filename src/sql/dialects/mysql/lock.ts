// The SQL that this dialect sends: test/sql/golden/mysql.sql
import type { LockDialect } from '../../dialect'
import { readUpdateInsert, pinByRead } from '../../acquire'
import { sql } from '../../sql'

export const mysql: LockDialect = {
  quote: (identifier) => `\`${identifier.replaceAll('`', '``')}\``,
  longestIdentifier: 64,
  // https://dev.mysql.com/doc/refman/8.4/en/identifiers.html, and what begins or ends a comment (see `update`).
  notInIdentifiers: /[\u{10000}-\u{10FFFF}]|\/\*|\*\//u,

  // The time when the statement started, in UTC whatever the session's time zone, cut and not rounded.
  now: sql`utc_timestamp(3)`,
  plus: (time, milliseconds) => sql`${time} + interval ${milliseconds} * 1000 microsecond`,
  epoch: sql`timestamp '1970-01-01 00:00:00'`,
  epochMilliseconds: (time) => sql`timestampdiff(microsecond, '1970-01-01', ${time}) div 1000`,
  text: (parameter) => parameter,
  // `rtrim` removes the blanks that sql_mode PAD_CHAR_TO_FULL_LENGTH adds to a column of type char.
  hex: (text) => sql`hex(convert(rtrim(${text}) using utf8mb4))`,
  // MariaDB 12 and later return a word, others a number.
  readOnly: sql`@@global.read_only not in ('0', 'OFF')`,
  commits: sql`@@autocommit = 1`,
  // `set timestamp` moves the clock of a session, and stops it, but not sysdate(). Both are local times, so a zone does not matter.
  // Only reads compare them: a replica that executes statements would find another sysdate(). MySQL skips the comment for MariaDB,
  // and has no such variable. Sums, because MariaDB returns 0 for a bare variable beside an aggregate (seen on 10.11).
  unfit: sql`
    case when @@autocommit + 0 = 0 then 1 when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2
      /*M! when @@in_transaction + 0 = 1 then 3 */ else 0 end`,

  // Not `on duplicate key update`: with the flag FOUND_ROWS, which drivers usually set, it counts one row even if it left a held
  // lock alone. Not `insert ignore`, which cuts a name that is too long, and reports success. And never two of these in one
  // transaction, because they deadlock (1213) by the thousand. The read comes first because an update waits for the row's lock even
  // if the row is held: behind a guarded transaction, until its commit. With it, a winner costs a third more, and a loser less than
  // half as much (measured on MariaDB 10.11).
  acquire: readUpdateInsert,
  // An error at once if another session has locked the row (3572). In a derived table, because an update has no `nowait` itself.
  // MariaDB skips these comments: there the driver sets innodb_lock_wait_timeout for the statement, which costs less (1205).
  // https://mariadb.com/kb/en/comment-syntax/
  update: ({ table, name, isNamed }, { assignments, condition }) =>
    sql`update ${table} set ${assignments} where ${condition}
      and /*!80000 exists (select 1 from (select ${name} from ${table} where */ ${isNamed} /*!80000 for update nowait) shedlock_row) */`,

  // Reads the newest row, whatever the isolation level. MariaDB has no `for share`.
  pin: pinByRead((lock) => sql`select 1 from ${lock.table} where ${lock.isOwnHeld} lock in share mode`),

  // https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
  transientErrors: {
    '1062': 'ER_DUP_ENTRY: another session inserted the row first',
    '3101': 'ER_TRANSACTION_ROLLBACK_DURING_COMMIT: another member wrote first (Group Replication)',
    '1020': 'ER_CHECKREAD: another session wrote first (MariaDB with innodb_snapshot_isolation)',
    '1213': 'ER_LOCK_DEADLOCK: this session was chosen to give way',
    '3572': 'ER_LOCK_NOWAIT: another session has the row',
    '1205':
      'ER_LOCK_WAIT_TIMEOUT: another session has the row (MariaDB), or kept it longer than innodb_lock_wait_timeout',
    '1969': 'ER_STATEMENT_TIMEOUT: the statement took longer than max_statement_time (MariaDB)',
    '3024': 'ER_QUERY_TIMEOUT: the statement took longer than max_execution_time (MySQL)',
    '1040': 'ER_CON_COUNT_ERROR: the server or a router has no room for another connection',
    '1203': 'ER_TOO_MANY_USER_CONNECTIONS: this user has as many connections as it may have',
    '1226': 'ER_USER_LIMIT_REACHED: this user has reached one of its limits',
    '1317': 'ER_QUERY_INTERRUPTED: an operator has killed the statement',
  },
  readOnlyErrors: {
    '1290': 'ER_OPTION_PREVENTS_STATEMENT: the server runs with read_only or super_read_only',
    '1792': 'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: transaction_read_only is set',
    '1836': 'ER_READ_ONLY_MODE: the server is in read-only mode',
    '3100': 'ER_RUN_HOOK_ERROR: a member that left its group rolled the statement back (Group Replication)',
    '1047': 'ER_UNKNOWN_COM_ERROR: this node is not part of the primary component (Galera)',
  },
}
