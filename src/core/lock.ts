import type { Lease } from './time'

/**
 * A length of time: a number of milliseconds; or a string of a whole number and a unit (`'500ms'`, `'30s'`, `'14m'`, `'2h'`, `'60d'`,
 * also `us` and `ns`); or a string in ISO 8601 (`'PT14M'`, `'P1DT2H'`). Case does not matter: `'14M'` is fourteen minutes. Fractions of
 * a millisecond are cut off. A string without a unit, such as `'10'`, is refused when it is used; the type is `string`, so that a value
 * from `process.env` fits.
 */
export type Duration = number | string

/** What to lock, for how long, and how to acquire it. It contains no time of its own, so one object can be used again and again. */
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
   * seconds. Set `lockAtLeastFor` too: it keeps the slot of a run that failed until then, and without it the next instance whose
   * timer is a little late repeats the run at once. Default `false`: each slot is acquired once, however its run ends.
   */
  readonly untilSucceeded?: boolean | undefined
  /**
   * How long to try again and again while the lock is held, for a task that should rather run late than be skipped. There is no
   * queue: the first attempt after the release acquires the lock. A slot that has run already ends the wait. Default 0: one attempt.
   */
  readonly wait?: Duration | WaitOptions | undefined
  /**
   * Whether to extend the lock by `lockAtMostFor` whenever less than half of it is left, until it is released. `lockAtMostFor` may
   * then be short (a minute, say): it is only the time after a crash until another instance may run. An extension that fails is
   * repeated until the lease is over. A task that hangs would hold its lock for ever, so set a limit: `{ atMost: '2h' }`. Default
   * `false`.
   */
  readonly keepAlive?: boolean | KeepAliveOptions | undefined
  /**
   * When it aborts, the wait for the lock ends, and the signal of a task under the lock aborts with the same reason. `lock()` rejects
   * with that reason; an executor skips the task as `aborted`. Default: none.
   */
  readonly signal?: AbortSignal | undefined
}

/** How to wait for a lock. */
export interface WaitOptions {
  /** For how long to try again. */
  readonly atMost: Duration
  /** The longest time between two attempts; it lasts between half of it and all of it, at random. Default half a second. */
  readonly interval?: Duration | undefined
}

/** How to keep a lock alive. */
export interface KeepAliveOptions {
  /** For how long the lock is kept alive. Afterwards its signal aborts with `LOCK_LOST`, and it expires. Default: no limit. */
  readonly atMost?: Duration | undefined
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

/** What a lock provider answers when it does not acquire the lock. */
export interface Refusal {
  /** Why the lock was not acquired. */
  readonly reason: RefusalReason
  /** Who holds the lock, where the storage knows that without another statement: not on PostgreSQL. */
  readonly holder?: LockHolder | undefined
}

/**
 * Why a task was skipped: a reason for which a lock is refused, or
 *
 * - `nested` another task already runs under the same lock, inside the task that holds it
 * - `aborted` the `signal` of its configuration aborted before it began
 * - `shutdown` the executor was shut down
 */
export type SkipReason = RefusalReason | 'nested' | 'aborted' | 'shutdown'

/** Why a task was skipped. */
export interface Skip {
  /** Why the task was skipped. */
  readonly reason: SkipReason
  /** As in a refusal. */
  readonly holder?: LockHolder | undefined
}

/** The lock as its task sees it. The task can extend it, but not unlock it: the executor does that. */
export interface ActiveLock {
  /** The lock's name. */
  readonly name: string

  /**
   * Aborts with a `LockError`: `LOCK_LOST` when the lease is over or an extension is refused, `NOT_LOCKED` after the release,
   * `SHUTDOWN` when the executor shuts down; or with the reason of the configuration's `signal`. After work that blocked the
   * process, read this property again: its signal is then up to date.
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
   * @throws LockError `LOCK_LOST` when the row is no longer this holder's, `NOT_LOCKED` after the release,
   *   `INVALID_CONFIGURATION` when the provider has no tokens; another code when the database did not answer
   */
  fencingToken(): Promise<number>

  /**
   * Makes the lease last at least `lockAtMostFor` from now; never shortens it.
   *
   * @param lockAtLeastFor counts from the acquisition. Default: unchanged
   * @returns the same lock
   * @throws LockError `LOCK_LOST` when the lease was over; `NOT_LOCKED` after the release, also if it is answered after that;
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

/** Options of `shutdown()`. */
export interface ShutdownOptions {
  /** How long to wait at most. Default 10 seconds. */
  readonly timeout?: Duration | undefined
}

/**
 * What a storage author writes for one acquired lock: its lease, and how to extend and release it. Requests may arrive late: none of
 * them may shorten a lease, or revive one that is over or released.
 */
export interface Acquisition {
  /** How long the holder may trust the lock. Begin it before the request is sent. */
  readonly lease: Pick<Lease, 'remaining'>
  /**
   * Makes the lease last at least `lockAtMostFor` milliseconds from now.
   *
   * @param lockAtLeastFor for how many milliseconds from the acquisition `unlock` leaves the lock held; `undefined`: unchanged
   * @returns the new lease, or `undefined` when the old one was over
   */
  extend(
    lockAtMostFor: number,
    lockAtLeastFor: number | undefined,
  ): Promise<Pick<Lease, 'remaining'> | undefined>
  /**
   * Reads a positive safe integer that is greater than the token of every earlier acquisition of this name. Left out where the
   * storage has no tokens.
   *
   * @returns the token, or `undefined` when the lock is no longer this holder's
   */
  fencingToken?(): Promise<number | undefined>
  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. If it rejects, it may be called again. It may be called
   * when the lease is over: if nobody has acquired the lock since, the outcome still counts.
   *
   * @param outcome how the run ended; `unused`: nothing ran, so release the lock at once, and let its slot be acquired again
   */
  unlock(outcome: UnlockOptions['outcome']): Promise<void>
}

const REASONS: Readonly<Record<SkipReason, string>> = {
  held: 'is held by somebody else',
  'already-run': 'was already acquired for this slot or a later one',
  nested: 'is already used by another task inside the task that holds it',
  aborted: 'was not acquired, because the signal of its configuration aborted',
  shutdown: 'was not acquired, because the executor shuts down',
}

/** Whether this owner is a pause: nobody runs under the lock. */
export function isPause(lockedBy: string): boolean {
  return lockedBy.startsWith('paused by ')
}

/** The rest of a sentence whose subject is the lock. */
export function describeSkip({ reason, holder }: Skip): string {
  if (reason !== 'held' || !holder) return REASONS[reason]
  const { lockedBy, lockUntil } = holder
  const by = isPause(lockedBy) ? lockedBy : `held by ${lockedBy}`
  return `is ${by} until ${lockUntil.toISOString()}`
}
