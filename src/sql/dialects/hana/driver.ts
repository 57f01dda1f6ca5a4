import type { Driver } from '../../dialect'
import { allBut, isUnknownHost, notConnected, type ErrorLike } from '../../driver'

/** Excludes broken connections, commits with an unknown outcome, and the client's own codes, which are negative. */
const hanaCode = allBut(/^(-\d+|145|149|1028|1029|1030|1031)$/)

/** @sap/hana-client */
export const hanaDriver: Driver = {
  placeholder: () => '?',
  errorCode: ({ code, sqlState }: ErrorLike) =>
    typeof code === 'number' && typeof sqlState === 'string' ? hanaCode(String(code)) : undefined,
  notSent: notConnected,
  lasts: isUnknownHost,
}
