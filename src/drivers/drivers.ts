import type { DialectName } from '../sql/internal'

/** How a database driver writes placeholders and reports errors, whichever client is on top of it. */
export interface Driver {
  /** Returns the placeholder for the value at this position, counted from 0. */
  readonly placeholder: (position: number) => string
  /**
   * Writes a string that is not ASCII in ASCII, because a bound string depends on the session's character set. Default: it is bound
   * as it is.
   *
   * @param placeholder the placeholder at which its value would be bound
   * @returns SQL that can be written in any character set, and the value to bind in it, if there is one
   */
  readonly inAscii?:
    ((text: string, placeholder: string) => { readonly sql: string; readonly value?: string }) | undefined
  /**
   * Returns the server's code for an error of this driver, as a string.
   *
   * @returns `undefined` if the error is not an answer of the server, or leaves open whether the statement was executed
   */
  readonly errorCode: (error: object) => string | undefined
  /** Returns whether an error of this driver proves that there was no connection, so that no statement was sent. */
  readonly notSent: (error: object) => boolean
  /** Returns whether such an error remains, however often the statement is repeated: a closed pool, a wrong host or password. */
  readonly lasts: (error: object) => boolean
}

/** The properties that the drivers set on their errors. */
type ErrorLike = Partial<
  Record<'name' | 'message' | 'code' | 'errno' | 'number' | 'class' | 'severity' | 'sqlState', unknown> &
    Record<'details' | 'errors', unknown>
>

/** Codes that occur only while connecting; others also occur when a connection breaks. */
const NOT_CONNECTED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']

/** Returns whether Node.js could not connect. If a host has several addresses, none of them may have been reached. */
function notConnected({ code, message, errors }: ErrorLike): boolean {
  if (Array.isArray(errors)) return errors.length > 0 && errors.every((error: object) => notConnected(error))
  return NOT_CONNECTED.includes(code) || /^(connect|getaddrinfo) E[A-Z]/.test(String(message))
}

/** A host name that does not exist. Unlike EAI_AGAIN, this is the answer of a name server. */
const isUnknownHost = ({ code }: ErrorLike): boolean => code === 'ENOTFOUND'

/** Creates placeholders such as `$1`, `:1` and `@0`. */
function numbered(sign: string, first: number): Driver['placeholder'] {
  return (position) => `${sign}${position + first}`
}

/** Creates a function that returns a code, unless the code leaves open whether the statement was executed. */
function allBut(unknownOutcome: RegExp): (code: string) => string | undefined {
  return (code) => (unknownOutcome.test(code) ? undefined : code)
}

/**
 * Excludes the SQLSTATEs which mean that the connection ended or the server stopped.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const postgresCode = allBut(/^(08...|40003|57P0.)$/)
/** The codes with which a server rejects a client: wrong password, no such database, too many connections, not started yet. */
const POSTGRES_REFUSED = /^(28...|3D000|53300|57P03)$/
/** Messages of PgBouncer about statements that reached no server, all with one code. https://www.pgbouncer.org/config.html */
const PGBOUNCER_NO_SERVER =
  /server login has been failing|query_wait_timeout|cannot connect to server|client_login_timeout|no more connections allowed/
/** Errors of pg and its pool have no codes. */
const PG_NO_CONNECTION =
  /^(timeout (exceeded when trying to connect|expired)$|Connection terminated due to connection timeout|Cannot use a pool after|Client .* is not queryable|SASL|The server does not support SSL)/

function hex(text: string): string {
  return Buffer.from(text).toString('hex')
}

/** pg, and drivers that behave like it. */
const postgres: Driver = {
  placeholder: numbered('$', 1),
  // Clients send UTF-8 even if `client_encoding` is another character set, so send hexadecimal digits. They are bound, because with
  // literals each name would be another statement to plan.
  inAscii: (text, placeholder) => ({
    sql: `convert_from(decode(${placeholder}, 'hex'), 'UTF8')`,
    value: hex(text),
  }),
  // Only messages of the server have a severity; errors of Node.js itself, such as ECONNRESET, have a code too.
  errorCode: ({ severity, code }: ErrorLike) =>
    severity !== undefined && typeof code === 'string' ? postgresCode(code) : undefined,
  notSent: (error: ErrorLike) =>
    POSTGRES_REFUSED.test(String(error.code)) ||
    (error.code === '08P01' && PGBOUNCER_NO_SERVER.test(String(error.message))) ||
    PG_NO_CONNECTION.test(String(error.message)) ||
    notConnected(error),
  lasts: (error: ErrorLike) =>
    /^(28...|3D000)$/.test(String(error.code)) ||
    /^(Cannot use a pool after|SASL|The server does not support SSL)/.test(String(error.message)) ||
    isUnknownHost(error),
}

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
  return `_utf8mb4 x'${hex(text)}'`
}

/** mysql2 and mariadb. */
const mysql: Driver = {
  placeholder: () => '?',
  // Not convert(unhex(?) using utf8mb4), whose collation has the same rank as that of a column, whereas that of a literal or a
  // bound value yields. A column in another collation could not be compared with it (error 1267), and a key in latin1 would not be
  // used.
  inAscii: (text) => ({ sql: mysqlLiteral(text) }),
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

/** better-sqlite3, and sql.js, whose errors have no codes. */
const sqlite: Driver = {
  placeholder: () => '?',
  // SQLite always answers.
  errorCode: ({ code }: ErrorLike) =>
    typeof code === 'string' && code.startsWith('SQLITE_') ? code : 'SQLITE_ERROR',
  notSent: () => false,
  lasts: () => false,
}

/** Excludes Azure's "the service has encountered an error processing your request". */
export const mssqlCode = allBut(/^(40143|40197|40540)$/)
/** From this severity on, an error ends the connection. */
const FATAL_ON_MSSQL = 20
const MSSQL_POOL_TIMED_OUT = 'Failed to acquire a connection from the pool'

/** mssql; the placeholders are those of TypeORM, other clients have their own. */
const mssql: Driver = {
  placeholder: numbered('@', 0),
  // The driver's own errors have no number, or a string in its place.
  errorCode: ({ code, number, class: severity = 0 }: ErrorLike) => {
    if (code !== 'EREQUEST' || typeof number !== 'number' || Number(severity) >= FATAL_ON_MSSQL)
      return undefined
    return mssqlCode(String(number))
  },
  // An error of a request has another name, whatever its code is. The timeout of the pool has no name of its own.
  notSent: (error: ErrorLike) =>
    error.name === 'ConnectionError' ||
    String(error.message).startsWith(MSSQL_POOL_TIMED_OUT) ||
    notConnected(error),
  lasts: (error: ErrorLike) => error.code === 'ELOGIN' || isUnknownHost(error),
}

/** The codes for the limits of the pool, and for everything that can fail before a session is open. */
const ORACLE_NO_CONNECTION = /^NJS-(040|064|065|076|50[3-8]|51[0124-9])$/

/** oracledb, which reports a lost connection with a code of its own, NJS-500. */
const oracle: Driver = {
  placeholder: numbered(':', 1),
  errorCode: ({ code }: ErrorLike) => /^ORA-\d+/.exec(String(code))?.[0],
  notSent: (error: ErrorLike) => ORACLE_NO_CONNECTION.test(String(error.code)) || notConnected(error),
  // The pool is closed or closing.
  lasts: (error: ErrorLike) => /^NJS-06[45]$/.test(String(error.code)) || isUnknownHost(error),
}

/** Excludes broken connections, commits with an unknown outcome, and the client's own codes, which are negative. */
const hanaCode = allBut(/^(-\d+|145|149|1028|1029|1030|1031)$/)

/** @sap/hana-client */
const hana: Driver = {
  placeholder: () => '?',
  errorCode: ({ code, sqlState }: ErrorLike) =>
    typeof code === 'number' && typeof sqlState === 'string' ? hanaCode(String(code)) : undefined,
  notSent: notConnected,
  lasts: isUnknownHost,
}

/** Excludes CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE and DATA_LOSS. */
const spannerCode = allBut(/^(1|2|4|13|14|15)$/)

/** @google-cloud/spanner, whose errors have the status of a gRPC call; the placeholders are those of TypeORM. */
const spanner: Driver = {
  placeholder: numbered('@param', 0),
  errorCode: ({ code, details }: ErrorLike) =>
    typeof code === 'number' && typeof details === 'string' ? spannerCode(String(code)) : undefined,
  notSent: notConnected,
  lasts: isUnknownHost,
}

/** The driver for each database, by the name of its dialect. */
export const drivers: Readonly<Record<DialectName, Driver>> = {
  postgres,
  cockroachdb: postgres,
  mysql,
  mariadb: mysql,
  sqlite,
  mssql,
  oracle,
  hana,
  spanner,
}
