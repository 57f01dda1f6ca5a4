import { postgresCode } from '../drivers'

/** What Prisma 8 throws: in the chain of its causes, what `pg` threw. */
interface ErrorLike {
  readonly code?: unknown
  readonly severity?: unknown
  readonly cause?: ErrorLike
}

const SQLSTATE = /^[0-9A-Z]{5}$/

/**
 * The server's code for an error that Prisma 8 passed on. Not its `sqlState`, which is whatever code has five letters,
 * `EPIPE` of Node.js included: what the server answered has a severity beside its code.
 *
 * @returns `undefined` when the error is not an answer of the server
 */
export function prisma8NativeCode(error: unknown): string | undefined {
  for (let each = error as ErrorLike | undefined; each; each = each.cause) {
    const { code, severity } = each
    if (typeof severity === 'string' && typeof code === 'string' && SQLSTATE.test(code))
      return postgresCode(code)
  }
  return undefined
}
