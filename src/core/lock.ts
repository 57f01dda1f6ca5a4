import type { Duration } from './duration'
import type { Lease } from './lease'

/** What to lock, and for how long. Durations only and no clock inside: one object may be used again and again. */
export interface LockConfiguration {
  /** Of all callers with this name one runs; the others skip. At most 64 characters. */
  readonly name: string
  /**
   * The lock expires after this long, even if its holder died. Choose a value well above the longest run that you
   * expect: a task that outlives it may be running twice.
   */
  readonly lockAtMostFor: Duration
  /**
   * The lock stays held for at least this long, however short the task is, so that an instance whose clock is late
   * does not run the same tick again. Counted from the acquisition. Default 0.
   */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * When this run was due: a `Date` or milliseconds since 1970, the same on every instance whatever its clock says. The lock
   * is given once for each slot, and never for a slot before one that was given already. `lockAtLeastFor` then counts from
   * the slot, and is not needed. Default: none; the lock is given whenever it is free.
   */
  readonly slot?: Date | number | undefined
}

/**
 * Why a lock was not given.
 *
 * - `held` somebody else holds it
 * - `already-run` nobody does, but it was given for this slot, or for a later one, or without a slot after this one was due
 */
export type RefusalReason = 'held' | 'already-run'

/** Who holds a lock. */
export interface LockHolder {
  /** Host and process, unless configured otherwise; or `paused by` whom, and why. */
  readonly lockedBy: string
  readonly lockUntil: Date
}

/** How to ask for a lock. */
export interface LockOptions {
  /** Once it aborts, `lock` rejects with its reason, and a provider that waits stops waiting. */
  readonly signal?: AbortSignal | undefined
  /**
   * Hears why, before `lock` resolves to `undefined`, and who holds the lock if the storage knows without another question. A
   * provider that does not call it means `held`.
   */
  readonly onRefused?: ((reason: RefusalReason, holder?: LockHolder) => void) | undefined
}

/** Hands out locks. This is the whole contract that a storage has to fulfil; see `shedlock-orm/testing` for its suite. */
export interface LockProvider {
  /** Where the locks are, for logs, such as `the table shedlock (postgres)`. Default: not told. */
  readonly description?: string | undefined
  /**
   * Asks for the lock once, and never waits for it.
   *
   * @returns the lock, or `undefined` if somebody else holds it, or its slot was given already
   * @throws LockError when it is not known whether the lock is free; the caller must then not act as its holder
   */
  lock(configuration: LockConfiguration, options?: LockOptions): Promise<SimpleLock | undefined>
}

/** One acquisition. It is spent by its `unlock` or by an `extend` that was answered: use the lock that came back. */
export interface SimpleLock {
  readonly name: string

  /** Aborts with a `LockError`: `LOCK_LOST` when the lock is lost, `NOT_LOCKED` when it is unlocked. */
  readonly signal: AbortSignal

  /**
   * What the storage itself knows of this acquisition, for functions of that storage such as the SQL guard; the core
   * does not look into it. The same after an extension. A provider that wraps another one passes it on.
   */
  readonly acquisition?: object | undefined

  /**
   * How long, in milliseconds, the holder may still trust the lock; 0 when the lease is over, and from the call of
   * `unlock` on. Counted on this process's monotonic clock from before the request was sent, so it never says more than
   * the database would.
   */
  remaining(): number

  /**
   * A positive whole number, greater than that of every acquisition of this name before, and the same after an extension:
   * for storages that refuse what an earlier holder sends too late. Reads it from the database, so that it also tells that
   * the lock was still held a moment ago.
   *
   * @throws LockError `LOCK_LOST` when the row is no longer this holder's, `NOT_LOCKED` after `unlock`,
   *   `INVALID_CONFIGURATION` when the provider has no tokens; another code when the database did not answer
   */
  fencingToken(): Promise<number>

  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. It is final: nothing that this holder sent before
   * and that arrives later brings the lock back. Does nothing to a successor's lock.
   *
   * @throws LockError `LOCK_SPENT` when used twice; any other code when the database refused: `unlock` may then be called
   *   again, it is tried again in the background, and the lock expires anyway
   */
  unlock(): Promise<void>

  /**
   * Makes the lease last at least `lockAtMostFor` from now. It never shortens: a lease that lasts longer already stays as
   * it is, and `unlock` is what ends it early. `lockAtLeastFor` counts from now too; left out, the one given before stands.
   *
   * @returns the lock to use from now on, or `undefined` if the lease was over: then somebody else may have it
   * @throws LockError `LOCK_SPENT` when used twice; any other code when the database refused: the lock is then not
   *   spent, and its old lease stands
   */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<SimpleLock | undefined>

  /**
   * `await using lock = await provider.lock(…)`: unlocks it, or what its extensions gave, unless that is done already.
   * Never rejects, so that the block's own error comes through: an unlock that fails becomes a process warning, and the
   * lease releases the lock.
   */
  [Symbol.asyncDispose](): Promise<void>
}

/** The lock as its task sees it: to look at and to extend, but not to unlock, which the executor does. */
export interface ActiveLock {
  readonly name: string
  /** What the storage knows of this acquisition; for functions of that storage, such as the SQL guard. */
  readonly acquisition?: object | undefined
  /**
   * Aborts with a `LockError`: `LOCK_LOST` when the lease is over or an extension is refused, `SHUTDOWN` when the
   * executor shuts down, `NOT_LOCKED` when the task has ended. Pass it to all that the task waits for; after work that blocks
   * the process, read it anew.
   */
  readonly signal: AbortSignal
  /** How long, in milliseconds, the lock may still be trusted; 0 when the lease is over or the task has ended. */
  remaining(): number
  /**
   * The fencing token of this acquisition, as `SimpleLock.fencingToken` has it.
   *
   * @throws LockError `LOCK_LOST` when the lock is lost, `NOT_LOCKED` when the task has ended, `INVALID_CONFIGURATION` when the
   *   provider has no tokens; another code when the database did not answer
   */
  fencingToken(): Promise<number>
  /**
   * Makes the lease last at least `lockAtMostFor` from now, and never shortens it; `lockAtLeastFor` counts from now too,
   * and left out stays as it was.
   *
   * @throws LockError `LOCK_LOST` when the lease is over, `NOT_LOCKED` when the task has ended; another code when the
   *   database did not answer: the lease before then stands, and the call may be repeated
   */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void>
}

/**
 * What a storage knows and does for one acquisition; `simpleLock` makes the lock of it, with all that locks have in
 * common. Statements may arrive late: none of these may shorten a lease or bring back one that is over or released.
 */
export interface Acquisition {
  /** How long the holder may trust it: begun before the request was sent. */
  readonly lease: Pick<Lease, 'remaining'>
  /**
   * Makes the lease last at least `lockAtMostFor` milliseconds from now.
   *
   * @param lockAtLeastFor milliseconds from now before which `unlock` does not free the lock; `undefined`: as before
   * @returns the lease from now on, or `undefined` when it was over
   */
  extend(
    lockAtMostFor: number,
    lockAtLeastFor: number | undefined,
  ): Promise<Pick<Lease, 'remaining'> | undefined>
  /**
   * A positive safe integer, greater than that of every acquisition of this name before; left out where there is none.
   *
   * @returns the token, or `undefined` when the lock is no longer this holder's
   */
  fencingToken?(): Promise<number | undefined>
  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. If it rejects it may be called again.
   *
   * @param early releases it at once, and its slot with it, because its task did not run
   */
  unlock(early: boolean): Promise<void>
}
