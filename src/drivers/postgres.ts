import { createHash } from 'node:crypto'
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

/** A name for a statement that the server shall keep: made of its text, so that no two texts share one. */
export function statementName(text: string): string {
  return `shedlock_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}

/** How a refused name is called: the server's codes for it say other things too. */
export const NAME_REFUSED = 'NAME_REFUSED'

/** invalid_sql_statement_name, duplicate_prepared_statement */
const ABOUT_NAMES = ['26000', '42P05']

/**
 * Whether a statement failed because the server does not have, or already has, one of its name, or had planned it for a
 * table that has changed since. All of these come before anything is executed.
 */
export function isNameRefused(error: unknown): boolean {
  const { severity, code, routine, message } = (error ?? {}) as Record<string, unknown>
  if (severity === undefined) return false
  if (ABOUT_NAMES.includes(String(code))) return true
  // "cached plan must not change result type", in the server's language.
  if (code === '0A000') return routine === 'RevalidateCachedQuery'
  // Poolers say it in words of their own; PgBouncer ends the connection with a code that tells nothing else.
  return code === '08P01' && /prepared statement/i.test(String(message))
}
