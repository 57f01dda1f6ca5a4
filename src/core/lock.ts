// Early types of Node.js 18 lack `Symbol.asyncDispose`.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Lease } from './time'

/**
 * A length of time: a number of milliseconds; a string of a whole number and a unit (`'500ms'`, `'30s'`, `'14m'`, `'2h'`, `'60d'`,
 * also `us` and `ns`); a string in ISO 8601 (`'PT14M'`, `'P1DT2H'`); or a `Temporal.Duration` of days or smaller units. Case does
 * not matter: `'14M'` is fourteen minutes. Fractions of a millisecond are cut off. A string without a unit, such as `'10'`, is
 * refused at run time; the type is `string` so that a value from `process.env` fits.
 */
export type Duration =
  | number
  | string
  | {
      readonly sign: number
      readonly blank: boolean
      /** Returns the duration in ISO 8601. */
      toString(): string
    }

/**
 * What to lock, for how long, and how to acquire the lock. Durations count from each acquisition, so one object can be used again
 * and again.
 */
export interface LockConfiguration {
  /**
   * The lock's name. Of all callers that use it at the same time, one runs and the others skip. 1 to 64 characters, without
   * control characters, and without blanks at either end.
   */
  readonly name: string
  /**
   * The lock expires after this long, even if its holder has died. Choose a duration well above the longest run: a task that
   * outlives its lock may run twice at the same time. At least two milliseconds.
   */
  readonly lockAtMostFor: Duration
  /**
   * The lock stays held for at least this long from its acquisition, even if the task ends sooner, so that an instance whose
   * clock or timer is late does not run a short job again. At most `lockAtMostFor`. Default 0.
   */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * When this run was due, the same on every instance: a `Date`, whole milliseconds since 1970, or a `Temporal.Instant` or
   * `Temporal.ZonedDateTime`. The lock is acquired once for each slot, and never for a slot before the last one. A slot more than a
   * minute ahead of the storage's clock is refused with `INVALID_CONFIGURATION`, because one of the clocks is wrong. Default: no
   * slot; the lock is acquired whenever it is free.
   */
  readonly slot?: Date | number | { readonly epochMilliseconds: number } | undefined
  /**
   * Whether the same slot may be acquired again until a run of it has succeeded. The lock must be free, its last run must have
   * failed, died, or been unlocked without an outcome, and no later slot may have been acquired. Needs `slot`, which then counts in
   * whole seconds. Set `lockAtLeastFor` too, because it keeps the lock after a failed run: otherwise the next instance whose timer
   * is a little late repeats the run at once. Default `false`: each slot is acquired once, however its run ends.
   */
  readonly untilSucceeded?: boolean | undefined
  /**
   * How long to keep trying while the lock is held, for a task that is better run late than skipped. There is no queue: the first
   * attempt after the release acquires the lock. The wait also ends if the slot has already run. Default 0: one attempt.
   */
  readonly wait?:
    | Duration
    | {
        /** How long to keep trying. */
        readonly atMost: Duration
        /**
         * The longest interval between two attempts; each one lasts a random time between half of this and all of it. Default half a
         * second.
         */
        readonly interval?: Duration | undefined
      }
    | undefined
  /**
   * Whether to extend the lock by `lockAtMostFor` whenever less than half of it is left, until it is released. `lockAtMostFor` may
   * then be short (a minute, say), because it is only how long other instances wait after a crash. A failed extension is repeated
   * until the lease is over. A task that hangs would hold its lock for ever, so set a limit: `{ atMost: '2h' }`. Default `false`.
   */
  readonly keepAlive?:
    | boolean
    | {
        /** How long to keep the lock alive. Afterwards its signal aborts with `LOCK_LOST`, and it expires. Default: no limit. */
        readonly atMost?: Duration | undefined
      }
    | undefined
  /**
   * When it aborts, the wait for the lock ends, and the signal of a task under the lock aborts with the same reason. `lock()` then
   * rejects with that reason; an executor skips the task as `aborted`. Default: none.
   */
  readonly signal?: AbortSignal | undefined
}

/** A lock configuration whose values were checked: what a storage needs to acquire the lock. */
export interface CheckedLockConfiguration {
  /** The lock's name. */
  readonly name: string
  /** In milliseconds. */
  readonly lockAtMostFor: number
  /** In milliseconds; 0 if it was not set. */
  readonly lockAtLeastFor: number
  /** In milliseconds since 1970; whole seconds with `untilSucceeded`. */
  readonly slot?: number
  /** Whether the slot may be acquired again until a run of it has succeeded. */
  readonly untilSucceeded?: true
}

/** What a lock provider returns if it does not acquire the lock. */
export type Refusal =
  | {
      /**
       * - `held` another acquisition or a pause holds the lock
       * - `already-run` it is free, but was acquired for this slot, for a later one, or without a slot after this one was due
       */
      readonly reason: 'held' | 'already-run'
      /** Who holds the lock, if the storage knows that without another statement. PostgreSQL does not. */
      readonly holder?: Skip['holder']
    }
  | {
      /** The slot lies more than a minute ahead of the storage's clock. The caller gets an error, because one of the clocks is wrong. */
      readonly reason: 'slot-too-far-ahead'
      /** The storage's clock, in milliseconds since 1970. */
      readonly now: number
    }

/** Why a task was skipped. */
export interface Skip {
  /**
   * - `held` another acquisition or a pause holds the lock
   * - `already-run` it is free, but was acquired for this slot, for a later one, or without a slot after this one was due
   * - `nested` another task already runs under the same lock, inside the task that holds it
   * - `aborted` the `signal` of its configuration aborted before it started
   * - `shutdown` the executor was shut down
   */
  readonly reason: 'held' | 'already-run' | 'nested' | 'aborted' | 'shutdown'
  /** Who holds the lock, if the provider knows. */
  readonly holder?:
    | {
        /** Host and process, unless configured otherwise; for a pause, `paused by`, then who paused it and why. */
        readonly lockedBy: string
        /** When the lease ends, by the database's clock. */
        readonly lockUntil: Date
      }
    | undefined
}

/** The lock as its task sees it: the task can extend it, but only the executor releases it. */
export interface ActiveLock {
  /** The lock's name. */
  readonly name: string

  /**
   * Aborts with a `LockError`: `LOCK_LOST` when the lease is over or an extension is refused, `NOT_LOCKED` after the release,
   * `SHUTDOWN` when the executor shuts down; or with the reason of the configuration's `signal`. After work that blocked the
   * process, read this property again to get a signal that is up to date.
   */
  readonly signal: AbortSignal

  /**
   * Returns how many more milliseconds the holder may trust the lock for; 0 once the lease is over or `unlock` is called. The lease
   * starts before the request is sent, so it never ends later here than in the database.
   */
  remaining(): number

  /**
   * Reads the fencing token: a positive whole number that is greater than the token of every earlier acquisition of this name, and
   * stays the same after an extension. An acquisition that was unlocked as `unused` does not count: the next one of its slot has the
   * same token. Pass it to a storage that refuses late writes of an earlier holder. Each call reads it from
   * the database, so a result means that the lock was still held a moment ago.
   *
   * @throws LockError `LOCK_LOST` if the row no longer belongs to this holder, `NOT_LOCKED` after the release,
   *   `INVALID_CONFIGURATION` if the provider has no tokens; another code if the database did not answer
   */
  fencingToken(): Promise<number>

  /**
   * Makes the lease last at least `lockAtMostFor` from now; never shortens it.
   *
   * @param lockAtLeastFor counts from the acquisition. Default: unchanged
   * @throws LockError `LOCK_LOST` if the lease was over; `NOT_LOCKED` after the release, also if the lock is released before the
   *   answer arrives; `INVALID_CONFIGURATION` for a wrong duration; another code if the database did not answer: the lease is then
   *   unchanged, and the call may be repeated
   */
  extend(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void>
}

/** The result of a call: the task's value if it ran here, or why it was skipped. */
export type TaskResult<T> =
  { readonly executed: true; readonly value: T } | ({ readonly executed: false } & Skip)

/** What the executor passes to a task. */
export interface TaskContext {
  /**
   * The `signal` of the lock: it aborts when the lock can no longer be trusted, or when the task must stop. Pass it to `fetch`,
   * timers and queries.
   */
  readonly signal: AbortSignal
  /** The lock that the task runs under, to read and to extend. */
  readonly lock: ActiveLock
}

/**
 * A function that runs under a lock. What it returns or throws is passed on unchanged. The lock is held until its promise settles.
 */
export type Task<T> = (context: TaskContext) => T | PromiseLike<T>

/** One lock, from its acquisition to its end. */
export interface Lock extends ActiveLock {
  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. This is final: a second call does nothing, and a
   * successor's lock is not touched.
   *
   * @throws LockError if the database did not answer: the release is then repeated in the background, and the lock expires in any
   *   case
   */
  unlock(options?: {
    /**
     * How the run under the lock ended, to be recorded in the row. `unused`: nothing ran, so the lock is released at once, and its
     * slot can be acquired again. Default: no outcome; the row then records `unlocked`.
     */
    readonly outcome?: 'succeeded' | 'failed' | 'unused' | undefined
    /** Why the run failed, with `outcome: 'failed'`. The row records its code or the name of its class; see `recordMessages` of the lock provider. */
    readonly error?: unknown
  }): Promise<void>

  /**
   * Unlocks at the end of the block of `await using lock = await provider.lock(…)`. Never rejects: a failed release becomes a
   * process warning.
   */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * What a storage author implements for one acquired lock: its lease, and how to extend and release it. Requests may arrive late:
 * they must not shorten a lease, nor revive one that is over or released.
 */
export interface Acquisition {
  /** How long the holder may trust the lock. Start it before the request is sent. */
  readonly lease: Pick<Lease, 'remaining'>
  /**
   * Makes the lease last at least `lockAtMostFor` milliseconds from now.
   *
   * @param lockAtLeastFor how long `unlock` leaves the lock held, in milliseconds from the acquisition; `undefined`: unchanged
   * @returns the new lease, or `undefined` if the old one was over
   */
  extend(
    lockAtMostFor: number,
    lockAtLeastFor: number | undefined,
  ): Promise<Pick<Lease, 'remaining'> | undefined>
  /**
   * Reads a positive safe integer that is greater than the token of every earlier acquisition of this name. Omit it if the storage
   * has no tokens.
   *
   * @returns the token, or `undefined` if the lock no longer belongs to this holder
   */
  fencingToken?(): Promise<number | undefined>
  /**
   * Releases the lock, or leaves it held until `lockAtLeastFor` is over. May be called again after it rejects, and after the lease
   * is over: the outcome still counts unless the lock has been acquired again since.
   *
   * @param outcome how the run ended; `unused`: nothing ran, so release the lock at once, and let its slot be acquired again
   * @param error why it failed, for storages that record it
   * @returns `false` if the lock was certainly no longer this holder's, although its lease was not over
   */
  unlock(outcome: 'succeeded' | 'failed' | 'unused' | undefined, error?: unknown): Promise<unknown>
}

const REASONS: Readonly<Record<Skip['reason'], string>> = {
  held: 'is already held',
  'already-run': 'was already acquired for this slot or a later one',
  nested: 'is already used by another task inside the task that holds it',
  aborted: 'was not acquired, because the signal of its configuration aborted',
  shutdown: 'was not acquired, because the executor is shutting down',
}

/** Describes the skip as the rest of a sentence whose subject is the lock. */
export function describeSkip({ reason, holder }: Skip): string {
  if (reason !== 'held' || !holder) return REASONS[reason]
  return `is held until ${holder.lockUntil.toISOString()} (${holder.lockedBy})`
}
