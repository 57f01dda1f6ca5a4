import type { Driver } from '../../dialect'
import { allBut, isUnknownHost, notConnected, type ErrorLike } from '../../driver'

/**
 * Excludes the end of the connection (1053: the server is shutting down, 1927: it was killed, 4031: it was idle for too long), and
 * numbers that no server uses, with which the driver reports on its socket or its pool.
 * https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
 * https://mariadb.com/kb/en/mariadb-error-code-reference/
 */
const mysqlUnknown = allBut(/^(1053|1927|4031|-\d+|2\d{3}|45\d{3})$/)

/**
 * Returns the code, unless it leaves open whether the statement was executed. Only the message of a failed commit (1180) gives the
 * reason: a lost race in Group Replication with several primaries, or a Galera node that lost its cluster, which leaves open
 * whether the transaction lasts.
 */
export function mysqlCode(code: string, message: string): string | undefined {
  if (code !== '1180') return mysqlUnknown(code)
  return /\b149\b|deadlock/i.test(message) ? '1213' : undefined
}

/**
 * The codes with which the server rejects a client (too many connections, a limit of the user, wrong host, wrong password), and those
 * that mariadb reports if it could not connect, or if its pool has timed out or is closed.
 */
const MYSQL_NO_CONNECTION = /^(1040|1045|1129|1130|1203|1226|1251|1698|450(12|27|28|37|61))$/
/** Errors of mysql2's pool have no codes. */
const MYSQL2_POOL = /^(No connections available|Queue limit reached|Pool is closed)\.$/

/** Writes a string as a hexadecimal literal, because no `sql_mode` changes how that is parsed. */
export function mysqlLiteral(text: string): string {
  return `_utf8mb4 x'${Buffer.from(text).toString('hex')}'`
}

/** Of rows: an app may have left a limit in the session, so that a table looks empty. */
const NO_LIMIT = 'sql_select_limit=18446744073709551615'
/** Ends a wait for the table's lock: on MariaDB in a comment that MySQL ignores. @param more settings */
const mariadbSettings = (more = ''): string =>
  `/*M! set statement lock_wait_timeout=0,${more}${NO_LIMIT} for */`
/** The same as hints, which MariaDB ignores. MySQL waits for a second at least, and knows no hint in DDL. */
const MYSQL_SETTINGS = `/*+ SET_VAR(lock_wait_timeout=1) SET_VAR(${NO_LIMIT}) */`
/** What does not wait for a row either, or for a gap between rows. A guard does, as the statements of its transaction. */
const UNWAITING = /^insert\b| for update nowait\b/

type Row = Readonly<Record<string, unknown>>

/** Turns bytes into strings, because a session returns bytes after `set names binary`. A lock reads no other bytes. */
function withoutBytes(row: Row): Row {
  if (!Object.values(row).some((value) => ArrayBuffer.isView(value))) return row
  const read = (value: unknown): unknown =>
    ArrayBuffer.isView(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
      : value
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, read(value)]))
}

/** mysql2 and mariadb. */
export const mysqlDriver: Driver = {
  read: withoutBytes,
  placeholder: () => '?',
  // Not convert(unhex(?) using utf8mb4), whose collation has the same rank as that of a column, whereas that of a literal or a
  // bound value yields. A column in another collation could not be compared with it (error 1267), and a key in latin1 would not be
  // used.
  inAscii: (text) => ({ sql: mysqlLiteral(text) }),
  // A wait for the table's lock lasts for a day on MariaDB, and for a year on MySQL.
  settled: (text) =>
    text
      .replace(/^(select|update|insert)\b/, `$1 ${MYSQL_SETTINGS}`)
      .replace(
        /^(select|update|insert|create|alter)\b/,
        `${mariadbSettings(UNWAITING.test(text) ? 'innodb_lock_wait_timeout=0,' : '')} $1`,
      ),
  // Only errors of the server have an SQLSTATE. Those of class 08 are mariadb's own, about the connection, except Galera's 1047
  // and the 1040 of a full server.
  errorCode: ({ errno, sqlState, message }: ErrorLike) => {
    if (errno === 1047 || errno === 1040) return String(errno)
    if (typeof sqlState !== 'string' || sqlState === '' || sqlState.startsWith('08')) return undefined
    return typeof errno === 'number' ? mysqlCode(String(errno), String(message)) : undefined
  },
  notSent: (error: ErrorLike) =>
    MYSQL_NO_CONNECTION.test(String(error.errno)) ||
    MYSQL2_POOL.test(String(error.message)) ||
    notConnected(error),
  // Wrong host or password, a host that is blocked, a pool that is closed or closing.
  lasts: (error: ErrorLike) =>
    /^(1045|1129|1130|1251|1698|450(27|35|37))$/.test(String(error.errno)) ||
    error.message === 'Pool is closed.' ||
    isUnknownHost(error),
}
