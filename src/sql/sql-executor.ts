import { LockError, recogniseEveryCopy } from '../core'
import type { Statement, Values } from './statement'

/** A column's name and type, as `LockStatements.describe` finds them; other queries name their own columns. */
export type Row = Readonly<Record<string, unknown>>

/**
 * How one client runs one statement: alone, in autocommit, on a connection that no transaction of the caller uses.
 * Rejects with a `DriverError`, or with a `LockError` `INVALID_CLIENT` when the client cannot be used at all.
 */
export interface SqlExecutor {
  /** @returns how many rows were changed, `0` when the statement found none, `NaN` when the client does not tell */
  execute(statement: Statement, values: Values): Promise<number>
  /** @returns the rows, with the columns as the statement names them */
  query(statement: Statement, values: Values): Promise<readonly Row[]>
}

/** An error of the database's driver, with what matters for a lock: what the server called it, if it answered. */
export class DriverError extends Error {
  static {
    recogniseEveryCopy(this, 'DriverError')
  }

  override readonly name = 'DriverError'
  /** The server's own code as text (`'40001'`, `'1213'`); `undefined` when no answer came, so that nobody knows what happened. */
  readonly code: string | undefined

  constructor(code: string | undefined, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.code = code
  }
}

/** @throws LockError `INVALID_CLIENT` when a client did not say how many rows a statement changed */
export function changedRows(told: unknown): number {
  const changed = Number(told)
  if (Number.isSafeInteger(changed)) return changed
  throw new LockError(
    'INVALID_CLIENT',
    'This client does not tell how many rows a statement changed, so that nobody would know whether a lock was acquired – use a client or a driver that does.',
  )
}
