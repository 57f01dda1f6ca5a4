import {
  aDuration,
  type Acquisition,
  type CheckedLockConfiguration,
  type Duration,
  inMemory,
  InMemoryLockProvider,
  Lease,
  LockingTaskExecutor,
  LockProvider,
  runWithoutLock,
  type Task,
} from '../core/internal'

/**
 * Runs code that calls `assertLocked`, `activeLock` or `guard` as if under a lock, but without a database:
 *
 * ```ts
 * await assumeLocked(() => reports.sendAll())
 * ```
 *
 * Only code called by the task sees the lock, so tests may run in parallel. A method with `@SchedulerLock` on an object that was created
 * with `new`, or that Nest created without `ShedLockModule`, runs under a lock in memory that is always free.
 *
 * @returns what the task returns
 */
export async function assumeLocked<T>(task: Task<T>): Promise<T> {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider())
  const assumed = { name: 'assumed', lockAtMostFor: '1h' }
  const result = await runWithoutLock({ isAssumed: true }, () => executor.executeWithLock(assumed, task))
  if (!result.executed) throw new Error('unreachable, because no other caller has this provider')
  return result.value
}

/**
 * A clock that stands still until a test advances it: `new InMemoryLockProvider(new FakeClock())`. It decides when leases end.
 * Signals abort by timers instead: to test that, use the fake timers of your test runner without a `FakeClock`.
 */
export class FakeClock {
  #now = 0

  /** Returns the total number of milliseconds by which the clock was advanced. */
  now(): number {
    return this.#now
  }

  /**
   * Advances the clock.
   *
   * @throws LockError `INVALID_CONFIGURATION` for an invalid or negative duration
   */
  advance(duration: Duration): void {
    this.#now += aDuration(duration, 'duration')
  }
}

/**
 * Creates a lock provider that grants every lock, so no task excludes another. Tasks run as under a real lock, with a `signal`,
 * `assertLocked()`, `guard` and `extend`, and their leases end after `lockAtMostFor`.
 */
export function alwaysFree(): LockProvider {
  return new AlwaysFree()
}

class AlwaysFree extends LockProvider {
  override readonly description = 'no storage, so all of them are always free'
  #lastToken = 0

  acquire({ lockAtMostFor }: CheckedLockConfiguration): Promise<Acquisition> {
    const token = ++this.#lastToken
    const acquisition: Acquisition = {
      lease: new Lease(lockAtMostFor),
      extend: (duration) => Promise.resolve(new Lease(duration)),
      fencingToken: () => Promise.resolve(token),
      unlock: () => Promise.resolve(),
    }
    inMemory.add(acquisition)
    return Promise.resolve(acquisition)
  }
}
