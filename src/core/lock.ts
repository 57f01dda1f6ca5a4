import type { Duration } from './duration'

/** What to lock, and for how long. Durations only and no clock inside: one object may be used again and again. */
export interface LockConfiguration {
  /** Who uses the same name, waits for nobody: one runs, the others skip. At most 64 characters. */
  readonly name: string
  /**
   * The lock frees itself after this long, even if its holder died. Choose a value well above the longest run that
   * you expect: a task that outlives it may be running twice.
   */
  readonly lockAtMostFor: Duration
  /**
   * The lock stays taken for at least this long, however short the task is, so that an instance whose clock is late
   * does not run the same tick again. Counted from the acquisition. Default 0.
   */
  readonly lockAtLeastFor?: Duration | undefined
}

/** Hands out locks. This is the whole contract that a storage has to fulfil; see `shedlock-orm/testing` for its suite. */
export interface LockProvider {
  /**
   * Asks for the lock once, and never waits for it.
   *
   * @returns the lock, or `undefined` if somebody else holds it
   * @throws LockError when it is not known whether the lock is free; the caller must then not act as its holder
   */
  lock(configuration: LockConfiguration): Promise<SimpleLock | undefined>
}

/** One acquisition. It is spent by its `unlock` or by an `extend` that was answered: use the lock that came back. */
export interface SimpleLock {
  readonly name: string

  /** Aborts with a `LockError` when the lock is lost. Only for locks that notice that by themselves, such as kept-alive ones. */
  readonly signal?: AbortSignal | undefined

  /**
   * What the storage itself knows of this acquisition, for functions of that storage such as the SQL guard; the core
   * does not look into it. The same after an extension. A provider that wraps another one passes it on.
   */
  readonly acquisition?: object | undefined

  /**
   * How long, in milliseconds, the holder may still trust the lock; 0 when the lease is over. Counted on this
   * process's monotonic clock from before the request was sent, so it never says more than the database would.
   */
  remaining(): number

  /**
   * Frees the lock, or leaves it taken until `lockAtLeastFor` is over. Does nothing to a successor's lock.
   *
   * @throws LockError `LOCK_SPENT` when used twice; any other code when the database refused: the lock is then not
   *   spent, `unlock` may be called again, and the lease ends by itself anyway
   */
  unlock(): Promise<void>

  /**
   * Makes the lease last `lockAtMostFor` from now. `lockAtLeastFor` counts from now too; left out, the one given
   * before stands.
   *
   * @returns the lock to use from now on, or `undefined` if the lease was over: then somebody else may have it
   * @throws LockError `LOCK_SPENT` when used twice; any other code when the database refused: the lock is then not
   *   spent, and its old lease stands
   */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<SimpleLock | undefined>

  /**
   * `await using lock = await provider.lock(…)`: unlocks it, or what its extensions gave, unless that is done already.
   * Never rejects, so that the block's own error comes through: an unlock that fails becomes a process warning, and the
   * lease frees the lock.
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
   * executor shuts down. Pass it to all that the task waits for.
   */
  readonly signal: AbortSignal
  /** How long, in milliseconds, the lock may still be trusted; 0 when the lease is over or the task has ended. */
  remaining(): number
  /**
   * Makes the lease last `lockAtMostFor` from now; `lockAtLeastFor` counts from now too, and left out stays as it was.
   *
   * @throws LockError `LOCK_LOST` when the lease is over, `NOT_LOCKED` when the task has ended; another code when the
   *   database did not answer: the lease before then stands, and the call may be repeated
   */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void>
}
