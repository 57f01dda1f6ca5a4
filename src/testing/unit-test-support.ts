import assert from 'node:assert/strict'
import {
  type Acquisition,
  type CheckedLockConfiguration,
  type Clock,
  type Duration,
  InMemoryLockProvider,
  invalid,
  Lease,
  LockingTaskExecutor,
  LockProvider,
  milliseconds,
  notByHand,
  type Task,
} from '../core/internal'

/**
 * Runs code that calls `assertLocked`, `activeLock` or `extendActiveLock` as if under a lock, without any database:
 *
 * ```ts
 * await assumeLocked(() => reports.sendAll())
 * ```
 *
 * Only what the task calls sees the lock, so tests may run side by side.
 *
 * @returns what the task returns
 */
export async function assumeLocked<T>(task: Task<T>): Promise<T> {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider())
  const assumed = { name: 'assumed', lockAtMostFor: '1h' }
  const result = await notByHand(() => executor.executeWithLock(assumed, task))
  if (!result.executed) throw new Error('unreachable: nobody else has this provider')
  return result.value
}

/**
 * A clock that stops until a test advances it: `new InMemoryLockProvider(new FakeClock())`. It decides when leases end. Signals, in
 * contrast, abort by timers: to see that in a test, use the fake timers of your test runner, and no `FakeClock`.
 */
export class FakeClock implements Clock {
  #now = 0

  /** How many milliseconds the clock was advanced in all; 0 at first. */
  now(): number {
    return this.#now
  }

  /**
   * Advances the clock.
   *
   * @throws LockError `INVALID_CONFIGURATION` for what is not a duration, or is negative
   */
  advance(duration: Duration): void {
    const step = milliseconds(duration)
    if (step < 0) throw invalid(`The clock cannot go back by ${duration} – advance it by 0 or more.`)
    this.#now += step
  }
}

/**
 * Makes a lock provider whose locks nobody ever holds: no task keeps another out. Tasks run as under a lock, with a `signal`,
 * `assertLocked()` and `extend`; the lease ends after `lockAtMostFor`, as usual.
 */
export function alwaysFree(): LockProvider {
  return new AlwaysFree()
}

class AlwaysFree extends LockProvider {
  override readonly description = 'no storage, so they are always free'
  #lastToken = 0

  acquire({ lockAtMostFor }: CheckedLockConfiguration): Promise<Acquisition> {
    const token = ++this.#lastToken
    return Promise.resolve({
      lease: new Lease(lockAtMostFor),
      extend: (duration) => Promise.resolve(new Lease(duration)),
      fencingToken: () => Promise.resolve(token),
      unlock: () => Promise.resolve(),
    })
  }
}

/**
 * Makes sure that somebody holds the lock, by trying to acquire it.
 *
 * @throws AssertionError when nobody holds the lock
 */
export async function assertHeld(provider: LockProvider, name: string): Promise<void> {
  assert(await isHeld(provider, name), `Lock '${name}' is free, but should be held.`)
}

/**
 * Makes sure that nobody holds the lock, by acquiring it and releasing it at once.
 *
 * @throws AssertionError when somebody holds the lock
 */
export async function assertFree(provider: LockProvider, name: string): Promise<void> {
  assert(!(await isHeld(provider, name)), `Lock '${name}' is held, but should be free.`)
}

/** Tries to acquire the lock as anybody would, so that it works with every provider. */
async function isHeld(provider: LockProvider, name: string): Promise<boolean> {
  const lock = await provider.lock({ name, lockAtMostFor: '1m' })
  await lock?.unlock()
  return lock === undefined
}
