import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isMainThread, threadId } from 'node:worker_threads'
import { LockError } from '../core'

/** What is left of `varchar(255)` beside the random part. */
const LONGEST = 255 - '/00000000-0000-0000-0000-000000000000'.length

const RANDOM_PART = /\/[\da-f-]{36}$/

/** This process, for people who read the table. */
export function defaultLockedBy(): string {
  return `${hostname()}/${process.pid}${isMainThread ? '' : `/${threadId}`}`.slice(-LONGEST)
}

/** Whether this owner is a pause. */
export function isPause(owner: string): boolean {
  return owner.startsWith('paused by ')
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkLockedBy(lockedBy: string): string {
  if (!isPause(checkOwner(lockedBy, 'lockedBy'))) return lockedBy
  throw new LockError('INVALID_CONFIGURATION', "lockedBy begins with 'paused by' – a pause does.")
}

/**
 * @param what for the message
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkOwner(lockedBy: string, what: string): string {
  if (
    typeof lockedBy !== 'string' ||
    lockedBy.trim() === '' ||
    lockedBy.length > LONGEST ||
    /[\p{Cc}\p{Cs}]/u.test(lockedBy)
  ) {
    throw new LockError(
      'INVALID_CONFIGURATION',
      `${what} must be a text of 1 to ${LONGEST} characters without control characters.`,
    )
  }
  return lockedBy
}

/**
 * A fresh owner for one acquisition. Host and process alone would let a late holder release or extend the lock of its
 * successor in the same process.
 */
export function newOwner(lockedBy: string): string {
  return `${lockedBy}/${randomUUID()}`
}

/** The owner without its random part: what people want to read. */
export function readableOwner(owner: string): string {
  return unlockedOwner(owner).replace(/\/unlocked$/, '')
}

/**
 * What stands in `locked_by` after the unlock, so that nothing that its holder sent before finds the row. Never longer
 * than the owner; an owner without a random part, such as a Java service, is left as it is.
 */
export function unlockedOwner(owner: string): string {
  return owner.replace(RANDOM_PART, '/unlocked')
}
