import { checkLockConfiguration, later, Lease, simpleLock, type LockProvider } from '../core'

/**
 * A provider whose locks are always free: no task keeps another out. Tasks run as under a lock, with their `signal`,
 * `assertLocked()` and `extend`; the lease ends after `lockAtMostFor` as ever.
 */
export function alwaysFree(): LockProvider {
  let lastToken = 0
  return {
    description: 'nowhere, and always free',
    // eslint-disable-next-line @typescript-eslint/require-await -- a wrong configuration rejects, as with every provider
    lock: async (configuration, { signal } = {}) => {
      const { name, lockAtMostFor } = checkLockConfiguration(configuration)
      signal?.throwIfAborted()
      let lease = new Lease(lockAtMostFor)
      const token = ++lastToken
      return simpleLock(name, {
        lease,
        // eslint-disable-next-line @typescript-eslint/require-await
        extend: async (duration) => (lease = later(lease, new Lease(duration))),
        fencingToken: () => Promise.resolve(token),
        unlock: () => Promise.resolve(),
      })
    },
  }
}
