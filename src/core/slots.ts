import { invalid, type LockError } from './errors'
import { mustBe } from './options'
import { time } from './time'

/** The last millisecond of the calendar that all databases have. */
export const LAST_TIME = Date.UTC(10_000, 0) - 1

/**
 * @returns the slot in milliseconds since 1970
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkSlot(slot: unknown, option: string, lockName?: string): number {
  // Recognises a `Date` of another realm too, as test runners have them.
  const isDate = Object.prototype.toString.call(slot) === '[object Date]'
  const time = isDate ? (slot as Date).getTime() : slot
  if (typeof time === 'number' && Number.isInteger(time) && time > 0 && time <= LAST_TIME) return time
  throw mustBe(
    option,
    'the time at which the run was due: a valid Date, or whole milliseconds since 1970',
    lockName,
  )
}

/**
 * How many milliseconds a slot may lie ahead of the storage's clock: clocks that are set now and then differ by less. An instance
 * whose clock is further ahead would acquire the slots of the future, and keep all others from running.
 */
export const SLOT_AT_MOST_AHEAD = 60_000

/** How many tokens, a millisecond each, fit between two slots of a lock with `untilSucceeded`. */
export const RETRY_STEPS = 1_000

/**
 * For a provider with `untilSucceeded`, whose row already has this slot from a run that did not succeed: the next token, in
 * milliseconds since 1970. It grows with each of the first 998 retries.
 *
 * @param lockedAt the token of the last acquisition
 * @returns `undefined` if that acquisition was for another slot
 */
export function tokenOfRetry(slot: number, lockedAt: number): number | undefined {
  const retries = lockedAt - slot
  if (retries < 0 || retries > RETRY_STEPS - 2) return undefined
  return slot + Math.min(retries + 1, RETRY_STEPS - 2)
}

/**
 * The error for a slot that lies too far ahead of the storage's clock: `INVALID_CONFIGURATION`.
 *
 * @param slot in milliseconds since 1970
 * @param now the storage's clock, in milliseconds since 1970
 */
export function slotTooFarAhead(name: string, slot: number, now: number): LockError {
  const told = (time: number): string => new Date(time).toISOString()
  return invalid(
    `The slot of lock '${name}', ${told(slot)}, lies more than a minute ahead of the database's clock, which says ${told(now)}; the clock of this process says ${told(time.wall())} – correct the clock that is wrong. If both are right, pass the time at which this run was due as the slot.`,
    name,
  )
}
