import type { Driver } from '../../dialect'
import { isUnknownHost, notConnected, numbered, type ErrorLike } from '../../driver'

/** The codes for the limits of the pool, and for everything that can fail before a session is open. */
const ORACLE_NO_CONNECTION = /^NJS-(040|064|065|076|50[3-8]|51[0124-9])$/

/** oracledb, which reports a lost connection with a code of its own, NJS-500. */
export const oracleDriver: Driver = {
  placeholder: numbered(':', 1),
  errorCode: ({ code }: ErrorLike) => /^ORA-\d+/.exec(String(code))?.[0],
  notSent: (error: ErrorLike) => ORACLE_NO_CONNECTION.test(String(error.code)) || notConnected(error),
  // The pool is closed or closing.
  lasts: (error: ErrorLike) => /^NJS-06[45]$/.test(String(error.code)) || isUnknownHost(error),
}
