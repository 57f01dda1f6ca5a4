import type { Driver } from '../../dialect'
import { allBut, isUnknownHost, notConnected, numbered, type ErrorLike } from '../../driver'

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

/** pg, and drivers that behave like it. */
export const postgresDriver: Driver = {
  placeholder: numbered('$', 1),
  // Clients send UTF-8 even if `client_encoding` is another character set, so send hexadecimal digits. They are bound, because with
  // literals each name would be another statement to plan.
  inAscii: (text, placeholder) => ({
    sql: `convert_from(decode(${placeholder}, 'hex'), 'UTF8')`,
    value: Buffer.from(text).toString('hex'),
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
