import type { Driver } from './dialect'

/** The properties that the drivers set on their errors. */
export type ErrorLike = Partial<
  Record<'name' | 'message' | 'code' | 'errno' | 'number' | 'class' | 'severity' | 'sqlState', unknown> &
    Record<'details' | 'errors' | 'errcode', unknown>
>

/** Codes that occur only while connecting; others also occur when a connection breaks. */
const NOT_CONNECTED: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']

/** Returns whether Node.js could not connect. If a host has several addresses, none of them may have been reached. */
export function notConnected({ code, message, errors }: ErrorLike): boolean {
  if (Array.isArray(errors)) return errors.length > 0 && errors.every((error: object) => notConnected(error))
  return NOT_CONNECTED.includes(code) || /^(connect|getaddrinfo) E[A-Z]/.test(String(message))
}

/** A host name that does not exist. Unlike EAI_AGAIN, this is the answer of a name server. */
export const isUnknownHost = ({ code }: ErrorLike): boolean => code === 'ENOTFOUND'

/** Creates placeholders such as `$1`, `:1` and `@0`. */
export function numbered(sign: string, first: number): Driver['placeholder'] {
  return (position) => `${sign}${position + first}`
}

/** Creates a function that returns a code, unless the code leaves open whether the statement was executed. */
export function allBut(unknownOutcome: RegExp): (code: string) => string | undefined {
  return (code) => (unknownOutcome.test(code) ? undefined : code)
}
