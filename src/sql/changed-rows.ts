import { LockError } from '../core'

/** @throws LockError `INVALID_CLIENT` when a client did not say how many rows a statement changed */
export function changedRows(told: unknown): number {
  const changed = Number(told)
  if (Number.isSafeInteger(changed)) return changed
  throw new LockError(
    'INVALID_CLIENT',
    'This client does not tell how many rows a statement changed, so that nobody would know whether a lock was acquired – use a client or a driver that does.',
  )
}
