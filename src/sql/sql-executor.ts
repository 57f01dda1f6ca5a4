import { recogniseEveryCopy, type LockError } from '../core/internal'
import type { Sql, SqlValues } from './sql'

/** A row of a result: its values by the column names of the statement. */
export type SqlRow = Readonly<Record<string, unknown>>

/** One attempt to run a statement. */
export interface Attempt {
  /** Whether the caller no longer waits for the answer. */
  readonly isAbandoned: boolean
  /**
   * Ends the connection of this attempt; set by the code that runs the statement. It is called when the attempt is abandoned,
   * because a connection that did not answer in time may be silent for good, and must not return to its pool.
   */
  onAbandoned?: (() => void) | undefined
}

/**
 * Runs statements through one client: each on its own, in autocommit, on a connection that no transaction of the caller uses.
 * Rejects with a `DriverError`, or with a `LockError` `INVALID_CLIENT` if the client cannot be used at all.
 */
export interface SqlExecutor {
  /**
   * Runs a statement that writes.
   *
   * @returns how many rows it changed: `0` if it found none, `NaN` if the client does not report it
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
   * @returns why the client cannot answer any statement, if that is certain: the lock then fails with this error
   */
  unusable?(): LockError | undefined
}

/** The column of a result that is 1 if the server accepts no writes. */
export const READ_ONLY_COLUMN = 'read_only'
/** The error code for such a result, which is not an error of the server. */
const READ_ONLY = 'READ_ONLY'

/** @throws DriverError if the rows come from a server that accepts no writes, because they may be old */
export function checkWritable(rows: readonly SqlRow[]): void {
  if (Number(rows[0]?.[READ_ONLY_COLUMN] ?? 0) === 0) return
  throw new DriverError(READ_ONLY, 'the server is read-only')
}

/** Returns whether the code of an error means that the server accepts no writes. @param codes those of the server */
export function isReadOnly(code: string | undefined, codes: Readonly<Record<string, string>>): boolean {
  return code !== undefined && (code === READ_ONLY || code in codes)
}

/** An error of the database's driver, with what matters for a lock: the server's code, and whether the statement was sent. */
export class DriverError extends Error {
  static {
    recogniseEveryCopy(this, 'DriverError')
  }

  override readonly name = 'DriverError'
  /** The server's own code as a string (`'40001'`, `'1213'`); `undefined` if no answer arrived, so that the outcome is unknown. */
  readonly code: string | undefined
  /** `false` if it is certain that the statement never reached the server, because there was no connection for it. */
  readonly sent: boolean

  constructor(code: string | undefined, cause: unknown, sent = true) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.code = code
    this.sent = sent
  }
}
