import { AsyncLocalStorage } from 'node:async_hooks'
import type { Duration } from './duration'
import { LockError } from './errors'
import type { ActiveLock, LockProvider } from './lock'
import type { WatchedLock } from './watched-lock'

/** One level of nested locked tasks, as seen by the code that runs inside. */
export interface Frame {
  readonly lock: WatchedLock
  readonly provider: LockProvider
  readonly outer: Frame | undefined
  /** Whether a task of the same name runs inside at this moment. */
  occupied: boolean
  /** Whether the task of this level has ended: what it left running belongs to the level outside. */
  ended: boolean
}

const frames = new AsyncLocalStorage<Frame>()
let allAssertsPass = false

function find(matches: (frame: Frame) => boolean): Frame | undefined {
  let frame = frames.getStore()
  while (frame && (frame.ended || !matches(frame))) frame = frame.outer
  return frame
}

/** The innermost level at which this provider's lock of this name is held. */
export function enclosingFrame(provider: LockProvider, name: string): Frame | undefined {
  return find(({ lock, provider: holder }) => holder === provider && lock.name === name && lock.locked)
}

/** Calls the task so that all it calls and awaits sees the lock. */
export async function runInFrame<T>(
  lock: WatchedLock,
  provider: LockProvider,
  task: () => T | PromiseLike<T>,
): Promise<T> {
  const frame: Frame = { lock, provider, outer: frames.getStore(), occupied: false, ended: false }
  try {
    return await frames.run(frame, task)
  } finally {
    frame.ended = true
  }
}

/**
 * The innermost lock that the calling code runs under, or `undefined`. Code that outlives its task – a promise nobody
 * awaited, a timer – is not under the lock any more. Its `signal` tells when to stop.
 */
export function activeLock(): ActiveLock | undefined {
  return find(({ lock }) => !lock.ended)?.lock
}

/**
 * Makes sure that the calling code runs under a lock, whichever: for jobs that must never be called without one.
 *
 * @throws LockError `NOT_LOCKED` when it does not, or when the lease is over
 */
export function assertLocked(): void {
  if (!allAssertsPass && !find(({ lock }) => lock.locked)) {
    throw new LockError(
      'NOT_LOCKED',
      'The task is not locked – run it through executeWithLock, wrap or @SchedulerLock.',
    )
  }
}

/** @internal For `shedlock-orm/testing`, which says what it is for. */
export function makeAllAssertsPass(pass: boolean): void {
  allAssertsPass = pass
}

/**
 * Makes the lease of the innermost active lock last `lockAtMostFor` from now. `lockAtLeastFor` counts from now too; left
 * out, the one given before stands.
 *
 * @throws LockError `NOT_LOCKED` outside of a locked task; `LOCK_LOST` when the lease was over already
 */
export async function extendActiveLock(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void> {
  const lock = activeLock()
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock to extend – call extendActiveLock inside of a locked task.',
    )
  }
  await lock.extend(lockAtMostFor, lockAtLeastFor)
}
