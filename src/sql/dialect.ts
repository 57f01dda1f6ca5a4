import type { AcquireStep } from './acquire'
import type { ErrorCodes } from './failures'
import type { Expressions, LockSql } from './expressions'
import type { Pin } from './pin'
import type { Sql } from './sql'
import type { Identifiers } from './names'

/** How one database locks: what its lock statements and their errors look like. Data only: no ORM, no I/O. */
export interface LockDialect extends Identifiers, Expressions, ErrorCodes {
  /** The tests have never run on such a server: its SQL follows the vendor's documentation. */
  readonly untried?: true

  /** The end of a `select` that reads no table, such as `from dual`. Default: none. */
  readonly from?: Sql

  /** How to acquire a row: steps to try in order until one decides. A loser neither waits nor writes. */
  readonly acquire: (dialect: Expressions, lock: LockSql) => readonly AcquireStep[]

  /** The same for a lock with a slot: only if `locked_at` is before the slot. */
  readonly acquireSlot: (dialect: Expressions, lock: LockSql) => readonly AcquireStep[]

  /**
   * Returns a row unless another session has locked that of the lock, if an update of such a row changes nothing. Default: it fails.
   */
  readonly rowIfUnlocked?: ((lock: LockSql) => Sql) | undefined

  /**
   * Adds to a write a query for how many rows it `changed`, where triggers or settings can falsify the client's count. The steps of
   * `acquire` do not need it.
   */
  readonly counted?: ((write: Sql) => Sql) | undefined

  /** The code of an error that the server answers only in a session with an open transaction. */
  readonly inTransactionError?: string | undefined

  /** How a transaction keeps other sessions from changing the lock's row until it ends. */
  readonly pin: (lock: LockSql) => Pin
}
