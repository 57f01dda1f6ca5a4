import type { Driver } from './driver'

/** Codes for connections that broke, and for commits whose outcome nobody knows; the client's own are negative. */
const UNKNOWN_OUTCOME = [145, 149, 1028, 1029, 1030, 1031]

/** @sap/hana-client */
export const hanaDriver: Driver = {
  placeholder: () => '?',
  errorCode: (error) => {
    const { code, sqlState } = error as { code?: unknown; sqlState?: unknown }
    if (typeof code !== 'number' || typeof sqlState !== 'string' || code < 0) return undefined
    return UNKNOWN_OUTCOME.includes(code) ? undefined : String(code)
  },
}
