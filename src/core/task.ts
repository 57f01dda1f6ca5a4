import type { ActiveLock } from './lock'

/** What became of a task: its value if it ran here, or the news that somebody else holds the lock. */
export type TaskResult<T> = { readonly executed: true; readonly value: T } | { readonly executed: false }

/** What a task gets to know. */
export interface TaskContext {
  /** Aborts when the lock can no longer be trusted. Pass it to `fetch`, timers and queries, so that the task stops. */
  readonly signal: AbortSignal
  /** The lock that the task runs under: to look at, and to extend. */
  readonly lock: ActiveLock
}

/** What runs under a lock. What it returns or throws is passed on as it is; the lock is held until its promise settles. */
export type Task<T> = (context: TaskContext) => T | PromiseLike<T>
