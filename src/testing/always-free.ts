import { checkLockConfiguration, later, Lease, simpleLock, type LockProvider } from '../core'

/**
 * A provider whose locks are always free: no task keeps another out. Tasks run as under a lock, with their `signal`,
 * `assertLocked()` and `extend`; the lease ends after `lockAtMostFor` as ever.
 */
export function alwaysFree(): LockProvider {
  return {
    // eslint-disable-next-line @typescript-eslint/require-await -- a wrong configuration rejects, as with every provider
    lock: async (configuration, { signal } = {}) => {
      const { name, lockAtMostFor } = checkLockConfiguration(configuration)
      signal?.throwIfAborted()
      let lease = new Lease(lockAtMostFor)
      return simpleLock(name, {
        lease,
        // eslint-disable-next-line @typescript-eslint/require-await
        extend: async (duration) => (lease = later(lease, new Lease(duration))),
        unlock: () => Promise.resolve(),
      })
    },
  }
}
