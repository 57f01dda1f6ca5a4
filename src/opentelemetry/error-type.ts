import { LockError } from '../core'

/** A value of few kinds for the attribute `error.type`: never a message. */
export function errorType(error: unknown): string {
  if (error instanceof LockError) return error.code
  if (!(error instanceof Error)) return '_OTHER'
  return error.name === 'Error' ? error.constructor.name : error.name
}
