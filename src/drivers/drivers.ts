import type { DialectName } from '../sql/internal'

/** How a database driver writes placeholders and reports errors, which is the same for every client on top of it. */
export interface Driver {
  /** The text of the placeholder for the value at this position, counted from 0. */
  readonly placeholder: (position: number) => string
  /**
   * Writes a string that is not ASCII in ASCII: bound as it is, it would depend on the character set of the session. Default: it is
   * bound as it is.
   *
   * @param placeholder where its value would be bound
   */
  readonly inAscii?: ((text: string, placeholder: string) => AsciiText) | undefined
  /**
   * The server's code for an error of this driver, as text.
   *
   * @returns `undefined` when the error is not an answer of the server, or does not tell what became of the statement
   */
  readonly errorCode: (error: object) => string | undefined
  /** Whether an error of this driver makes it certain that there was no connection, so that no statement was sent. */
  readonly notSent: (error: object) => boolean
}

/** A string, as SQL that every character set of a session has. */
export interface AsciiText {
  readonly sql: string
  /** The value to bind in this SQL. Default: none. */
  readonly value?: string
}

/** What the drivers put on their errors. */
type ErrorLike = Partial<
  Record<'name' | 'message' | 'code' | 'errno' | 'number' | 'class' | 'severity' | 'sqlState', unknown> &
    Record<'details' | 'errors', unknown>
>

/** These come from connecting alone; others are told of connections that break, too. */
const NOT_CONNECTED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']

/** Whether Node.js could not connect. Where a host has several addresses, none of them may have been reached. */
function notConnected({ code, message, errors }: ErrorLike): boolean {
  if (Array.isArray(errors)) return errors.length > 0 && errors.every((each: object) => notConnected(each))
  return NOT_CONNECTED.includes(code) || /^(connect|getaddrinfo) E[A-Z]/.test(String(message))
}

/** `$1`, `:1`, `@0`. */
function numbered(sign: string, first: number): Driver['placeholder'] {
  return (position) => `${sign}${position + first}`
}

/** Makes a function that keeps a code, unless it leaves open what became of the statement. */
function allBut(unknownOutcome: RegExp): (code: string) => string | undefined {
  return (code) => (unknownOutcome.test(code) ? undefined : code)
}

/**
 * SQLSTATEs that say the connection ended or the server stopped.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const postgresCode = allBut(/^(08...|40003|57P0.)$/)
/** What a server says to a client that it does not let in: wrong password, no such database, too many, not started yet. */
const POSTGRES_REFUSED = /^(28...|3D000|53300|57P03)$/
/** PgBouncer's words, all with one code, for what reached no server. https://www.pgbouncer.org/config.html */
const PGBOUNCER_NO_SERVER =
  /server login has been failing|query_wait_timeout|cannot connect to server|client_login_timeout|no more connections allowed/
/** pg and its pool have no codes. */
const PG_NO_CONNECTION =
  /^(timeout (exceeded when trying to connect|expired)$|Connection terminated due to connection timeout|Cannot use a pool after|Client .* is not queryable|SASL|The server does not support SSL)/

function hex(text: string): string {
  return Buffer.from(text).toString('hex')
}

/** pg, and what speaks as it does. */
const postgres: Driver = {
  placeholder: numbered('$', 1),
  // Clients send UTF-8 whatever client_encoding says. Not a literal: each name would be a statement to plan.
  inAscii: (text, placeholder) => ({
    sql: `convert_from(decode(${placeholder}, 'hex'), 'UTF8')`,
    value: hex(text),
  }),
  // Only the server's messages have a severity; errors of Node's own, such as ECONNRESET, have a code too.
  errorCode: ({ severity, code }: ErrorLike) =>
    severity !== undefined && typeof code === 'string' ? postgresCode(code) : undefined,
  notSent: (error: ErrorLike) =>
    POSTGRES_REFUSED.test(String(error.code)) ||
    (error.code === '08P01' && PGBOUNCER_NO_SERVER.test(String(error.message))) ||
    PG_NO_CONNECTION.test(String(error.message)) ||
    notConnected(error),
}

/**
 * The end of the connection (1053 the server shuts down, 1927 it was killed, 4031 it was idle for too long), and numbers
 * that no server uses: there the driver speaks of its socket or its pool.
 * https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html https://mariadb.com/kb/en/mariadb-error-code-reference/
 */
const mysqlUnknown = allBut(/^(1053|1927|4031|-\d+|2\d{3}|45\d{3})$/)

/**
 * A commit that failed (1180) says why in its text alone: Group Replication with several primaries reports a lost race so, and a Galera
 * node that loses its cluster leaves open whether the transaction lasts.
 */
export function mysqlCode(code: string, message: string): string | undefined {
  if (code !== '1180') return mysqlUnknown(code)
  return /\b149\b|deadlock/i.test(message) ? '1213' : undefined
}
/**
 * What the server says to a client that it does not let in (too many, not this host, wrong password), and mariadb where it
 * could not connect, its pool's limit of time was over, or its pool is closed.
 */
const MYSQL_NO_CONNECTION = /^(1040|1045|1129|1130|1203|1251|1698|450(12|27|28|37|61))$/
/** mysql2's pool has no codes. */
const MYSQL2_POOL = /^(No connections available|Queue limit reached|Pool is closed)\.$/

/** Hexadecimal, because no `sql_mode` changes how that is read. */
export function mysqlLiteral(text: string): string {
  return `_utf8mb4 x'${hex(text)}'`
}

/** mysql2 and mariadb. */
const mysql: Driver = {
  placeholder: () => '?',
  // Not convert(unhex(?) using utf8mb4), which ranks with a column where a literal and a bound value give way to it: a column in
  // another collation could not be compared with it (error 1267), and a key in latin1 would not be used.
  inAscii: (text) => ({ sql: mysqlLiteral(text) }),
  // Only the server's errors have an SQLSTATE; those of its class 08 are mariadb's own, about the connection, apart from Galera's.
  errorCode: ({ errno, sqlState, message }: ErrorLike) => {
    if (errno === 1047) return '1047'
    if (typeof sqlState !== 'string' || sqlState === '' || sqlState.startsWith('08')) return undefined
    return typeof errno === 'number' ? mysqlCode(String(errno), String(message)) : undefined
  },
  notSent: (error: ErrorLike) =>
    MYSQL_NO_CONNECTION.test(String(error.errno)) ||
    MYSQL2_POOL.test(String(error.message)) ||
    notConnected(error),
}

/** better-sqlite3, and sql.js, which has no codes. */
const sqlite: Driver = {
  placeholder: () => '?',
  // It always answers.
  errorCode: ({ code }: ErrorLike) =>
    typeof code === 'string' && code.startsWith('SQLITE_') ? code : 'SQLITE_ERROR',
  notSent: () => false,
}

/** Azure's "the service has encountered an error processing your request". */
export const mssqlCode = allBut(/^(40143|40197|40540)$/)
/** The severities from which on the connection ends. */
const FATAL_ON_MSSQL = 20
const MSSQL_POOL_TIMED_OUT = 'Failed to acquire a connection from the pool'

/** mssql; the placeholder is TypeORM's, other clients have their own. */
const mssql: Driver = {
  placeholder: numbered('@', 0),
  // The driver's own errors have no number, or a text in its place.
  errorCode: ({ code, number, class: severity = 0 }: ErrorLike) => {
    if (code !== 'EREQUEST' || typeof number !== 'number' || Number(severity) >= FATAL_ON_MSSQL)
      return undefined
    return mssqlCode(String(number))
  },
  // A request that fails has another name, whatever its code is. The pool's limit of time has no name.
  notSent: (error: ErrorLike) =>
    error.name === 'ConnectionError' ||
    String(error.message).startsWith(MSSQL_POOL_TIMED_OUT) ||
    notConnected(error),
}

/** The pool's limits, and all that may happen before a session is open. */
const ORACLE_NO_CONNECTION = /^NJS-(040|064|065|076|50[3-8]|51[0124-9])$/

/** oracledb; a lost connection has a code of the driver's own, NJS-500. */
const oracle: Driver = {
  placeholder: numbered(':', 1),
  errorCode: ({ code }: ErrorLike) => /^ORA-\d+/.exec(String(code))?.[0],
  notSent: (error: ErrorLike) => ORACLE_NO_CONNECTION.test(String(error.code)) || notConnected(error),
}

/** Connections that broke, and commits whose outcome nobody knows; the client's own are negative. */
const hanaCode = allBut(/^(-\d+|145|149|1028|1029|1030|1031)$/)

/** @sap/hana-client */
const hana: Driver = {
  placeholder: () => '?',
  errorCode: ({ code, sqlState }: ErrorLike) =>
    typeof code === 'number' && typeof sqlState === 'string' ? hanaCode(String(code)) : undefined,
  notSent: notConnected,
}

/** CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE and DATA_LOSS. */
const spannerCode = allBut(/^(1|2|4|13|14|15)$/)

/** @google-cloud/spanner, whose errors have the status of a gRPC call; the placeholder is TypeORM's. */
const spanner: Driver = {
  placeholder: numbered('@param', 0),
  errorCode: ({ code, details }: ErrorLike) =>
    typeof code === 'number' && typeof details === 'string' ? spannerCode(String(code)) : undefined,
  notSent: notConnected,
}

/** The driver that clients use for each database, by the name of its dialect. */
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
