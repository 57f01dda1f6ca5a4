import type { Driver } from '../../dialect'
import { allBut, isUnknownHost, notConnected, numbered, type ErrorLike } from '../../driver'

/** Excludes Azure's "the service has encountered an error processing your request". */
export const mssqlCode = allBut(/^(40143|40197|40540)$/)
/** From this severity on, an error ends the connection. */
const FATAL_ON_MSSQL = 20
const MSSQL_POOL_TIMED_OUT = 'Failed to acquire a connection from the pool'

/** mssql; the placeholders are those of TypeORM, other clients have their own. */
export const mssqlDriver: Driver = {
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
