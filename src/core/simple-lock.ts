import type { Duration } from './duration'
import { LockError } from './errors'
import { HeldLock } from './held-lock'
import type { Acquisition, SimpleLock } from './lock'
import { warn } from './warn'

const heldLocks = new WeakMap<SimpleLock, HeldLock>()

/** The lock of an acquisition, for those who write a `LockProvider`: call it as soon as the storage has answered. */
export function simpleLock(name: string, acquisition: Acquisition): SimpleLock {
  return simpleLockOf(new HeldLock(name, acquisition))
}

/** The held lock behind a lock, whoever made it. */
export function heldLockOf(lock: SimpleLock): HeldLock {
  return heldLocks.get(lock) ?? adopted(lock)
}

/** A lock that was not made by `simpleLock`, or by another copy of this package. */
function adopted(lock: SimpleLock): HeldLock {
  let latest = lock
  const storage: Acquisition = {
    lease: { remaining: () => latest.remaining() },
    extend: async (lockAtMostFor, lockAtLeastFor) => {
      const longer = await latest.extend(lockAtMostFor, lockAtLeastFor)
      if (longer) latest = longer
      return longer
    },
    unlock: async (early) => {
      if (early) latest = (await latest.extend(1, 0)) ?? latest
      await latest.unlock()
    },
  }
  // Another copy of this package may be older.
  if (typeof (lock as Partial<SimpleLock>).fencingToken === 'function')
    storage.fencingToken = () => latest.fencingToken()
  const held = new HeldLock(lock.name, storage, lock.acquisition)
  const { signal } = lock as Partial<SimpleLock>
  const lose = (): void => {
    held.lose('the provider that holds it gave it up', signal?.reason)
  }
  if (signal?.aborted) lose()
  else signal?.addEventListener('abort', lose, { once: true })
  return held
}

/** A lock that is spent by one `unlock` or one `extend`, but not by an `extend` that failed with an error. */
export function simpleLockOf(held: HeldLock): SimpleLock {
  let spent: 'extending' | 'extended' | 'unlocking' | 'unlocked' | 'unlock failed' | undefined
  let successor: Promise<SimpleLock | undefined> | undefined

  const throwIfSpent = (): void => {
    if (spent === undefined) return
    const message = `Lock '${held.name}' was already unlocked or extended – use the lock that extend() gave you.`
    throw new LockError('LOCK_SPENT', message, { lockName: held.name })
  }
  const unlock = async (): Promise<void> => {
    spent = 'unlocking'
    try {
      await held.end()
      spent = 'unlocked'
    } catch (error) {
      spent = 'unlock failed'
      throw error
    }
  }
  const extend = async (lockAtMostFor: Duration, lockAtLeastFor?: Duration) => {
    spent = 'extending'
    try {
      await held.extend(lockAtMostFor, lockAtLeastFor)
      spent = 'extended'
      return simpleLockOf(held)
    } catch (error) {
      spent = undefined
      if (!(error instanceof LockError) || !['LOCK_LOST', 'NOT_LOCKED'].includes(error.code)) throw error
      // The row may have been extended by an answer that came too late for us to trust it.
      await unlock().catch(() => undefined)
      return undefined
    }
  }

  const lock: SimpleLock = {
    name: held.name,
    acquisition: held.acquisition,
    get signal() {
      return held.signal
    },
    remaining: () => (spent === 'extended' ? 0 : held.remaining()),
    fencingToken: async () => {
      throwIfSpent()
      return held.fencingToken()
    },
    unlock: async () => {
      if (spent !== 'unlock failed') throwIfSpent()
      await unlock()
    },
    extend: async (...durations) => {
      throwIfSpent()
      return (successor = extend(...durations))
    },
    [Symbol.asyncDispose]: async () => {
      const longer = await successor?.catch(() => undefined)
      if (longer) await longer[Symbol.asyncDispose]()
      else if (spent === undefined || spent === 'unlock failed') await unlock().catch(warn)
    },
  }
  heldLocks.set(lock, held)
  return lock
}
