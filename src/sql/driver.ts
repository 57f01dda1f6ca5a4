/** How a database driver writes placeholders and reports errors, whichever client is on top of it. */
export interface Driver {
  /** Returns the placeholder for the value at this position, counted from 0. */
  readonly placeholder: (position: number) => string
  /**
   * Writes a string that is not ASCII in ASCII, because a bound string depends on the session's character set. Default: it is bound
   * as it is.
   *
   * @param placeholder the placeholder at which its value would be bound
   * @returns SQL that can be written in any character set, and the value to bind in it, if there is one
   */
  readonly inAscii?:
    ((text: string, placeholder: string) => { readonly sql: string; readonly value?: string }) | undefined
  /**
   * Writes settings into a statement that hold for it alone: how long the server may wait for a lock on its table, such as that of a
   * migration, and that it returns all rows. Default: the session's settings hold.
   */
  readonly settled?: ((text: string) => string) | undefined
  /** Converts a row that the driver returned. Default: it stays. */
  readonly read?: ((row: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>) | undefined
  /**
   * Returns the server's code for an error of this driver, as a string.
   *
   * @returns `undefined` if the error is not an answer of the server, or leaves open whether the statement was executed
   */
  readonly errorCode: (error: object) => string | undefined
  /** Returns whether an error of this driver proves that there was no connection, so that no statement was sent. */
  readonly notSent: (error: object) => boolean
  /** Returns whether such an error remains, however often the statement is repeated: a closed pool, a wrong host or password. */
  readonly lasts: (error: object) => boolean
}

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
