import type { Duration } from './duration'
import { LockError } from './errors'
import type { SimpleLock } from './lock'
import { checkLease } from './lock-configuration'
import { warn } from './warn'

/** What a storage does for one acquisition; `spendableLock` adds the rules that hold for every lock. */
export interface LockOperations {
  readonly name: string
  readonly acquisition?: object | undefined
  readonly signal?: AbortSignal | undefined
  /** As `SimpleLock.remaining`. */
  remaining(): number
  /** Frees the lock. If it rejects, the lock is not spent and this may be called again. */
  unlock(): Promise<void>
  /** Durations in milliseconds; `lockAtLeastFor` is `undefined` when the one before stands. */
  extend(lockAtMostFor: number, lockAtLeastFor: number | undefined): Promise<SimpleLock | undefined>
}

/** A lock that is spent by one `unlock` or one `extend`, but not by one that failed with an error. */
export function spendableLock(operations: LockOperations): SimpleLock {
  const { name, signal } = operations
  let spent = false
  let extension: Promise<SimpleLock | undefined> | undefined

  const spend = async <T>(operation: () => Promise<T>): Promise<T> => {
    if (spent) {
      throw new LockError(
        'LOCK_SPENT',
        `Lock '${name}' was already unlocked or extended – use the lock that extend() gave you.`,
        { lockName: name },
      )
    }
    spent = true
    try {
      return await operation()
    } catch (error) {
      spent = false
      throw error
    }
  }

  return {
    name,
    acquisition: operations.acquisition,
    signal,
    remaining: () => operations.remaining(),
    unlock: () => spend(() => operations.unlock()),
    extend: async (lockAtMostFor: Duration, lockAtLeastFor?: Duration) => {
      const lease = checkLease(name, lockAtMostFor, lockAtLeastFor ?? 0)
      const atLeast = lockAtLeastFor === undefined ? undefined : lease.lockAtLeastFor
      return spend(() => (extension = operations.extend(lease.lockAtMostFor, atLeast)))
    },
    [Symbol.asyncDispose]: async () => {
      const longer = await extension?.catch(() => undefined)
      if (longer) await longer[Symbol.asyncDispose]()
      else if (!spent) await spend(() => operations.unlock()).catch(warn)
    },
  }
}
