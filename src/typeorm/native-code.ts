/** Errors of Node's own carry a `code` too, such as ECONNRESET; these are the shapes that only a server's answer has. */
interface NativeError {
  readonly code?: unknown
  readonly errno?: unknown
  readonly sqlState?: unknown
  readonly severity?: unknown
  readonly number?: unknown
}

/** SQLSTATEs that say the connection ended or the server stopped, but not what became of the statement. */
const UNKNOWN_OUTCOME = /^(08|40003|57P0)/

/**
 * The server's code for an error that TypeORM passed on, as text.
 *
 * @returns `undefined` when the error is not an answer of the server, or does not tell what became of the statement
 */
export function nativeCode(error: unknown): string | undefined {
  const native = ((error as { driverError?: unknown }).driverError ?? error) as NativeError
  const { code, errno, number, severity, sqlState } = native
  // pg: only the server's messages have a severity.
  if (severity !== undefined && typeof code === 'string') {
    return UNKNOWN_OUTCOME.test(code) ? undefined : code
  }
  // mysql2: only the server's errors have an SQLSTATE.
  if (typeof sqlState === 'string' && sqlState !== '' && typeof errno === 'number') {
    return UNKNOWN_OUTCOME.test(sqlState) ? undefined : String(errno)
  }
  // mssql: the driver's own errors have no number, or a text in its place.
  if (code === 'EREQUEST' && typeof number === 'number') return String(number)
  // better-sqlite3 and oracledb; the latter gives a lost connection a code of its own, NJS-500.
  if (typeof code === 'string' && /^(SQLITE_|ORA-\d)/.test(code)) return code
  return undefined
}
