import { acquisitionsOf, byName } from './acquisitions'
import type { LockChange } from './history'

/** Finds acquisitions whose fencing token, `locked_at`, is not greater than that of the previous acquisition. */
export function checkTokens(changes: readonly LockChange[]): { what: string; wallAt: number }[] {
  return byName(changes)
    .flatMap(acquisitionsOf)
    .flatMap(({ name, owner, take, next }) =>
      next && next.lockedBy !== null && next.lockedAt <= take.lockedAt
        ? [
            {
              what: `'${name}' of ${next.lockedBy} has token ${next.lockedAt} after ${take.lockedAt} of ${owner}`,
              wallAt: next.at,
            },
          ]
        : [],
    )
}
