import { recogniseEveryCopy, type LockError } from '../core/internal'
import type { Sql, SqlValues } from './sql'

/** A row of a result: its values by the column names of the statement. */
export type SqlRow = Readonly<Record<string, unknown>>

/** One attempt to run a statement. */
export interface Attempt {
  /** Whether nobody waits for the answer any more. */
  readonly isAbandoned: boolean
  /**
   * What ends the connection of this attempt, set by the code that runs the statement. It is called when the attempt is abandoned: a
   * connection that gave no answer in time may be silent for good, and must not go back to its pool.
   */
  onAbandoned?: (() => void) | undefined
}

/**
 * How one client runs one statement: alone, in autocommit, on a connection that no transaction of the caller uses.
 * Rejects with a `DriverError`, or with a `LockError` `INVALID_CLIENT` when the client cannot be used at all.
 */
export interface SqlExecutor {
  /**
   * Runs a statement that writes.
   *
   * @returns how many rows it changed: `0` when it found none, `NaN` when the client does not know
   */
  execute(statement: Sql, values: SqlValues, attempt?: Attempt): Promise<number>
  /**
   * Runs a statement that reads.
   *
   * @returns the rows, with the columns as the statement names them
   */
  query(statement: Sql, values: SqlValues, attempt?: Attempt): Promise<readonly SqlRow[]>
  /**
   * Called when a statement got no answer.
   *
   * @returns why the client can answer none, if that is certain: then the lock fails with this error
   */
  unusable?(): LockError | undefined
}

/** The column of a result that says whether the server does not accept writes. */
export const READ_ONLY_COLUMN = 'read_only'
/** The code for such an answer, where it is no error of the server. */
const READ_ONLY = 'READ_ONLY'

/** @throws DriverError if the rows come from a server that does not accept writes, so that nothing that they say counts */
export function checkWritable(rows: readonly SqlRow[]): void {
  if (Number(rows[0]?.[READ_ONLY_COLUMN] ?? 0) === 0) return
  throw new DriverError(READ_ONLY, 'the server is read-only')
}

/** Whether the code of an error means that the server does not accept writes. @param codes those of the server */
export function isReadOnly(code: string | undefined, codes: Readonly<Record<string, string>>): boolean {
  return code !== undefined && (code === READ_ONLY || code in codes)
}

/** An error of the database's driver, with what matters for a lock: the server's code, and whether the statement was sent at all. */
export class DriverError extends Error {
  static {
    recogniseEveryCopy(this, 'DriverError')
  }

  override readonly name = 'DriverError'
  /** The server's own code as text (`'40001'`, `'1213'`); `undefined` when no answer came, so that nobody knows what happened. */
  readonly code: string | undefined
  /** `false` when it is certain that the statement never reached the server, because there was no connection for it. */
  readonly sent: boolean

  constructor(code: string | undefined, cause: unknown, sent = true) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.code = code
    this.sent = sent
  }
}
