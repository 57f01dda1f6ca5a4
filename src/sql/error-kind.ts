import type { Dialect } from './dialect'
import { DriverError } from './sql-executor'

/**
 * `conflict`: a lost race, nothing was changed. `busy`: not now. `unanswered`: nobody knows what became of it. `refused`:
 * every other answer of the server.
 */
export type ErrorKind = 'conflict' | 'busy' | 'unanswered' | 'refused'

export function errorKind({ errors }: Dialect, error: unknown): ErrorKind {
  const { code } = driverErrorOf(error)
  if (code === undefined) return 'unanswered'
  if (code in errors.conflict) return 'conflict'
  return code in errors.busy ? 'busy' : 'refused'
}

export function driverErrorOf(error: unknown): DriverError {
  return error instanceof DriverError ? error : new DriverError(undefined, error)
}
