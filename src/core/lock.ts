import type { Lease } from './time'

/**
 * A length of time: a number of milliseconds, a number with a unit (`'500ms'`, `'30s'`, `'14m'`, `'2h'`, `'60d'`,
 * also `us` and `ns`; without a unit it is milliseconds) or ISO 8601 (`'PT14M'`, `'P1DT2H'`). Case does not matter:
 * `'14M'` is fourteen minutes. Parts of a millisecond are cut off.
 */
export type Duration = number | string

/** What to lock, and for how long. There is no clock inside: one object may be used again and again. */
export interface LockConfiguration {
  /** Of all callers with this name one runs; the others skip. At most 64 characters. */
  readonly name: string
  /** The lock expires after this long, even if its holder died. Well above the longest run: a task that outlives it may run twice. */
  readonly lockAtMostFor: Duration
  /**
   * The lock stays held for at least this long from its acquisition, so that an instance whose clock is late does not run a
   * short job again. Default 0.
   */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * When this run was due: a `Date` or milliseconds since 1970, the same on every instance. The lock is acquired once for each
   * slot, and never for one before. More than a minute ahead of the storage's clock it is an error, because a clock is wrong.
   * Default: none; the lock is acquired whenever it is free.
   */
  readonly slot?: Date | number | undefined
  /**
   * The same slot is acquired again until a run of it succeeded: if the last one failed, died, or was unlocked without a word,
   * nobody holds the lock, and no later slot was acquired. Such slots count in whole seconds. Default `false`: once, however
   * the run ends.
   */
  readonly untilSucceeded?: boolean | undefined
}

/**
 * Why a lock was not acquired, as a statement saw it.
 *
 * - `held` somebody else holds it
 * - `already-run` nobody does, but it was acquired for this slot, or for a later one, or without a slot after this one was due
 */
export type RefusalReason = 'held' | 'already-run'

/** Who holds a lock. */
export interface LockHolder {
  /** Host and process, unless configured otherwise; or `paused by` whom, and why. */
  readonly lockedBy: string
  readonly lockUntil: Date
}

/**
 * Why a task was skipped: as a lock is refused, or
 *
 * - `nested` inside its own lock a task of the same name runs already
 * - `shutdown` the executor was shut down
 */
export type SkipReason = RefusalReason | 'nested' | 'shutdown'

/** Why a task was skipped. */
export interface Refusal {
  readonly reason: SkipReason
  /** Who holds the lock, where the provider knows without another statement: not on PostgreSQL. */
  readonly holder?: LockHolder | undefined
}

/** How to acquire a lock. */
export interface LockOptions {
  /** Once it aborts, `lock` rejects with its reason, and a provider that waits stops waiting. */
  readonly signal?: AbortSignal | undefined
  /**
   * Is called before `lock` resolves to `undefined`, with who holds the lock if the storage knows without another statement. A
   * provider that does not call it means `held`.
   */
  readonly onRefused?: ((reason: RefusalReason, holder?: LockHolder) => void) | undefined
}

/** Options of `shutdown()` and `drain()`. */
export interface ShutdownOptions {
  /** How long to wait. Default 10 seconds. */
  readonly timeout?: Duration | undefined
}

/** Hands out locks: all that a storage has to do. `shedlock-orm/testing` has a suite for it. */
export interface LockProvider {
  /** Where the locks are, for logs, such as `the table shedlock (postgres)`. Default: not told. */
  readonly description?: string | undefined
  /**
   * Tries to acquire the lock once, and never waits for it.
   *
   * @returns the lock, or `undefined` if it was refused
   * @throws LockError when nobody knows whether the lock is free
   */
  lock(configuration: LockConfiguration, options?: LockOptions): Promise<Lock | undefined>
  /**
   * For the end of the process: waits for releases in the background, and gives them up after the timeout. Nothing is sent to
   * the storage afterwards, until the next call of `lock`. Left out where nothing goes on in the background.
   */
  drain?(options?: ShutdownOptions): Promise<void>
}

/** The lock as its task sees it: to look at and to extend, but not to unlock, which the executor does. */
export interface ActiveLock {
  readonly name: string

  /** The storage's own, for functions of that storage such as the SQL guard. */
  readonly acquisition?: object | undefined

  /**
   * Aborts with a `LockError`: `LOCK_LOST` when the lease is over or an extension is refused, `NOT_LOCKED` after the unlock or
   * the end of the task, `SHUTDOWN` when the executor shuts down. After work that blocks the process, read it anew.
   */
  readonly signal: AbortSignal

  /**
   * How many milliseconds the holder may still trust the lock; 0 when the lease is over, and from the call of `unlock` on.
   * Counted from before the request was sent, so that it never says more than the database would.
   */
  remaining(): number

  /**
   * A positive whole number, greater than that of every acquisition of this name before, and the same after an extension:
   * for storages that refuse what an earlier holder sends too late. It is read, so that the lock was held a moment ago.
   *
   * @throws LockError `LOCK_LOST` when the row is no longer this holder's, `NOT_LOCKED` after the unlock or the end of the task,
   *   `INVALID_CONFIGURATION` when the provider has no tokens; another code when the database did not answer
   */
  fencingToken(): Promise<number>

  /**
   * Makes the lease last at least `lockAtMostFor` from now; it never shortens it.
   *
   * @param lockAtLeastFor counts from the acquisition. Default: as it was
   * @returns the same lock
   * @throws LockError `LOCK_LOST` when the lease was over; `NOT_LOCKED` after the unlock or the end of the task; another code when
   *   the database did not answer: the lease is as before, and the call may be repeated
   */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<ActiveLock>
}

/** One lock, from its acquisition to its end. */
export interface Lock extends ActiveLock {
  /** As of `ActiveLock`. */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<Lock>

  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. It is final, and does nothing to a successor's lock, nor
   * when it is called again.
   *
   * @throws LockError when the database did not answer: it is tried again in the background, and the lock expires anyway
   */
  unlock(options?: UnlockOptions): Promise<void>

  /** `await using lock = await provider.lock(…)`: unlocks it. Never rejects; an unlock that fails becomes a process warning. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Options of `unlock()`. */
export interface UnlockOptions {
  /**
   * How the run under the lock ended, for those who look at the row afterwards. `unused`: nothing ran; the lock is free at once,
   * and its slot can be acquired again. Default: not told, which counts as `unlocked`.
   */
  readonly outcome?: 'succeeded' | 'failed' | 'unused' | undefined
}

/**
 * What a storage knows and does for one acquisition; `createLock` makes the lock of it. Statements may arrive late: none of
 * these may shorten a lease or bring back one that is over or released.
 */
export interface Acquisition {
  /** How long the holder may trust it: begun before the request was sent. */
  readonly lease: Pick<Lease, 'remaining'>
  /**
   * Makes the lease last at least `lockAtMostFor` milliseconds from now.
   *
   * @param lockAtLeastFor milliseconds from the acquisition before which `unlock` does not release the lock; `undefined`: as before
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
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. If it rejects it may be called again. It comes late
   * when the lease is over: if nobody has acquired the lock since, the outcome still counts.
   *
   * @param outcome how the run ended; `unused`: it is released at once, and its slot with it, because nothing ran
   */
  unlock(outcome: UnlockOptions['outcome']): Promise<void>
}

const REASONS: Readonly<Record<SkipReason, string>> = {
  held: 'is held by somebody else',
  'already-run': 'was acquired for this slot, or for a later one',
  nested: 'is already used by another task inside its own task',
  shutdown: 'was not acquired, because the executor shuts down',
}

/** Whether nobody runs under the lock that this owner holds: somebody has paused it. */
export function isPause(lockedBy: string): boolean {
  return lockedBy.startsWith('paused by ')
}

/** The rest of a sentence that begins with the lock. */
export function describeRefusal({ reason, holder }: Refusal): string {
  if (reason !== 'held' || !holder) return REASONS[reason]
  const { lockedBy, lockUntil } = holder
  const by = isPause(lockedBy) ? lockedBy : `held by ${lockedBy}`
  return `is ${by} until ${lockUntil.toISOString()}`
}
