import type { Driver } from './driver'

/**
 * The end of the connection (1053 the server shuts down, 1927 it was killed, 4031 it was idle for too long), and numbers
 * that no server uses: there the driver speaks of its socket or its pool.
 * https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html https://mariadb.com/kb/en/mariadb-error-code-reference/
 */
const UNKNOWN_OUTCOME = /^(1053|1927|4031|-\d+|2\d{3}|45\d{3})$/

/** `undefined` for a number that leaves open what became of the statement. */
export function mysqlCode(number: string): string | undefined {
  return UNKNOWN_OUTCOME.test(number) ? undefined : number
}

/** mysql2 and mariadb. */
export const mysqlDriver: Driver = {
  placeholder: () => '?',
  // Only the server's errors have an SQLSTATE; those of its class 08 are mariadb's own, about the connection.
  errorCode: (error) => {
    const { errno, sqlState } = error as { errno?: unknown; sqlState?: unknown }
    if (typeof sqlState !== 'string' || sqlState === '' || sqlState.startsWith('08')) return undefined
    return typeof errno === 'number' ? mysqlCode(String(errno)) : undefined
  },
}
