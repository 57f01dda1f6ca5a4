import { numbered, type Driver } from './driver'

/**
 * SQLSTATEs that say the connection ended or the server stopped, but not what became of the statement.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const UNKNOWN_OUTCOME = /^(08...|40003|57P0.)$/

/** `undefined` for a code that leaves open what became of the statement. */
export function postgresCode(code: string): string | undefined {
  return UNKNOWN_OUTCOME.test(code) ? undefined : code
}

/** pg, and what speaks as it does. */
export const postgresDriver: Driver = {
  placeholder: numbered('$', 1),
  // Only the server's messages have a severity; errors of Node's own, such as ECONNRESET, have a code too.
  errorCode: (error) => {
    const { severity, code } = error as { severity?: unknown; code?: unknown }
    return severity !== undefined && typeof code === 'string' ? postgresCode(code) : undefined
  },
}
