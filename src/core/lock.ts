/**
 * A length of time: a number of milliseconds; or a text with a whole number and a unit (`'500ms'`, `'30s'`, `'14m'`, `'2h'`,
 * `'60d'`, also `us` and `ns`; without a unit it is milliseconds); or a text in ISO 8601 (`'PT14M'`, `'P1DT2H'`). Case does not
 * matter: `'14M'` is fourteen minutes. Fractions of a millisecond are cut off.
 */
export type Duration = number | string

/** What to lock, and for how long. It contains no time of its own, so one object can be used again and again. */
export interface LockConfiguration {
  /**
   * The lock's name. Of all callers that use it at the same time, one runs and the others skip. 1 to 64 characters, without
   * control characters, and without blanks at either end.
   */
  readonly name: string
  /**
   * The lock expires after this long, even if its holder has died. Choose a duration well above the longest run: a task that
   * outlives its lock may run twice at the same time.
   */
  readonly lockAtMostFor: Duration
  /**
   * The lock stays held for at least this long from its acquisition, even if the task ends sooner, so that an instance whose
   * clock is late does not run a short job again. At most `lockAtMostFor`. Default 0.
   */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * When this run was due: a `Date`, or whole milliseconds since 1970, the same on every instance. The lock is acquired once
   * for each slot, and never for a slot before the last one. A slot that lies more than a minute ahead of the storage's clock
   * throws `INVALID_CONFIGURATION`, because one of the clocks is wrong. Default: no slot; the lock is acquired whenever nobody
   * holds it.
   */
  readonly slot?: Date | number | undefined
  /**
   * Whether the same slot may be acquired again until a run of it has succeeded: if the last run failed, died, or was unlocked
   * without an outcome, if nobody holds the lock, and if no later slot was acquired. Needs `slot`, which then counts in whole
   * seconds. Default `false`: each slot is acquired once, however its run ends.
   */
  readonly untilSucceeded?: boolean | undefined
}

/**
 * Why a lock was not acquired, as a statement saw it.
 *
 * - `held` somebody else holds it
 * - `already-run` nobody holds it, but it was acquired for this slot, for a later one, or without a slot after this one was due
 */
export type RefusalReason = 'held' | 'already-run'

/** Who holds a lock. */
export interface LockHolder {
  /** Host and process, unless configured otherwise; or `paused by`, followed by who paused it and why. */
  readonly lockedBy: string
  /** When the lease ends, by the database's clock. */
  readonly lockUntil: Date
}

/**
 * Why a task was skipped: a reason for which a lock is refused, or
 *
 * - `nested` another task already runs under the same lock, inside the task that holds it
 * - `shutdown` the executor was shut down
 */
export type SkipReason = RefusalReason | 'nested' | 'shutdown'

/** Why a task was skipped. */
export interface Refusal {
  readonly reason: SkipReason
  /** Who holds the lock, where the provider knows that without another statement: not on PostgreSQL. */
  readonly holder?: LockHolder | undefined
}

/** How to acquire a lock. */
export interface LockOptions {
  /** When it aborts, `lock` rejects with its reason, and a provider that waits for the lock stops waiting. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called before `lock` resolves to `undefined`: with the reason, and with the holder of the lock where the storage knows that
   * without another statement. If a provider does not call it, the reason is `held`.
   */
  readonly onRefused?: ((reason: RefusalReason, holder?: LockHolder) => void) | undefined
}

/** Options of `shutdown()` and `drain()`. */
export interface ShutdownOptions {
  /** How long to wait at most. Default 10 seconds. */
  readonly timeout?: Duration | undefined
}

/** Hands out locks: all that a storage has to implement. `shedlock-orm/testing` has a test suite for it. */
export interface LockProvider {
  /** Where the locks are kept, for logs, such as `the table shedlock (postgres)`. Default: unknown. */
  readonly description?: string | undefined
  /**
   * Tries to acquire the lock once, and never waits for it.
   *
   * @returns the lock, or `undefined` if it was refused
   * @throws LockError `INVALID_CONFIGURATION`, or another code when nobody knows whether somebody holds the lock; the reason of
   *   `options.signal`, if it has aborted
   */
  lock(configuration: LockConfiguration, options?: LockOptions): Promise<Lock | undefined>
  /**
   * Call it at the end of the process: it waits for the releases in the background, and abandons them after the timeout.
   * Afterwards nothing is sent to the storage until the next call of `lock`. A provider that does nothing in the background
   * leaves it out.
   */
  drain?(options?: ShutdownOptions): Promise<void>
}

/** The lock as its task sees it. The task can extend it, but not unlock it: the executor does that. */
export interface ActiveLock {
  /** The lock's name. */
  readonly name: string

  /** What the storage keeps for this acquisition, for functions of that storage such as the SQL guard. */
  readonly acquisition?: object | undefined

  /**
   * Aborts with a `LockError`: `LOCK_LOST` when the lease is over or an extension is refused, `NOT_LOCKED` after the unlock or
   * the end of the task, `SHUTDOWN` when the executor shuts down. After work that blocked the process, read this property
   * again: its signal is then up to date.
   */
  readonly signal: AbortSignal

  /**
   * For how many more milliseconds the holder may trust the lock; 0 when the lease is over, and from the call of `unlock` on.
   * The lease counts from before the request was sent, so it never ends later here than in the database.
   */
  remaining(): number

  /**
   * A positive whole number that is greater than the token of every earlier acquisition of this name, and stays the same after
   * an extension: for storages that refuse what an earlier holder sends too late. Each call reads it from the database, so the
   * lock was still held a moment ago.
   *
   * @throws LockError `LOCK_LOST` when the row is no longer this holder's, `NOT_LOCKED` after the unlock or the end of the task,
   *   `INVALID_CONFIGURATION` when the provider has no tokens; another code when the database did not answer
   */
  fencingToken(): Promise<number>

  /**
   * Makes the lease last at least `lockAtMostFor` from now; never shortens it.
   *
   * @param lockAtLeastFor counts from the acquisition. Default: unchanged
   * @returns the same lock
   * @throws LockError `LOCK_LOST` when the lease was over; `NOT_LOCKED` after the unlock or the end of the task;
   *   `INVALID_CONFIGURATION` for a wrong duration; another code when the database did not answer: the lease is then as before,
   *   and the call may be repeated
   */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<ActiveLock>
}

/** One lock, from its acquisition to its end. */
export interface Lock extends ActiveLock {
  /** As `extend` of `ActiveLock`. */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<Lock>

  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. This is final. It does not touch a successor's lock, and
   * a second call does nothing.
   *
   * @throws LockError when the database did not answer: the release is then repeated in the background, and the lock expires
   *   in any case
   */
  unlock(options?: UnlockOptions): Promise<void>

  /**
   * Unlocks at the end of the block of `await using lock = await provider.lock(…)`. Never rejects: an unlock that fails becomes
   * a process warning.
   */
  [Symbol.asyncDispose](): Promise<void>
}

/** Options of `unlock()`. */
export interface UnlockOptions {
  /**
   * How the run under the lock ended, for those who read the row afterwards. `unused`: nothing ran, so the lock is released at
   * once, and its slot can be acquired again. Default: none; the row then says `unlocked`.
   */
  readonly outcome?: 'succeeded' | 'failed' | 'unused' | undefined
}

const REASONS: Readonly<Record<SkipReason, string>> = {
  held: 'is held by somebody else',
  'already-run': 'was already acquired for this slot or a later one',
  nested: 'is already used by another task inside the task that holds it',
  shutdown: 'was not acquired, because the executor shuts down',
}

/** Whether this owner is a pause: nobody runs under the lock. */
export function isPause(lockedBy: string): boolean {
  return lockedBy.startsWith('paused by ')
}

/** The rest of a sentence whose subject is the lock. */
export function describeRefusal({ reason, holder }: Refusal): string {
  if (reason !== 'held' || !holder) return REASONS[reason]
  const { lockedBy, lockUntil } = holder
  const by = isPause(lockedBy) ? lockedBy : `held by ${lockedBy}`
  return `is ${by} until ${lockUntil.toISOString()}`
}
