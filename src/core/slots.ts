import { optionError } from './options'

/** The last millisecond of the year 9999, which the calendar of every database includes. */
export const LAST_TIME = Date.UTC(10_000, 0) - 1

/**
 * `locked_at` of a lock that was never acquired, but has a row, such as that of a pause. A day into 1970, because some types begin in
 * 1970 in the session's time zone.
 */
export const NEVER_ACQUIRED = 86_400_000

/** Returns a `Date` and an object of Temporal in milliseconds since 1970, and any other value as it is. */
export function timeOf(value: unknown): unknown {
  // `instanceof` would refuse a `Date` of another realm, as test runners create them.
  if (Object.prototype.toString.call(value) === '[object Date]') return (value as Date).getTime()
  return (value as { epochMilliseconds?: unknown } | null | undefined)?.epochMilliseconds ?? value
}

/**
 * Checks a slot, and returns it in milliseconds since 1970.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseSlot(slot: unknown, option: string, lockName?: string): number {
  const time = timeOf(slot) as number
  // False for anything but a number.
  if (Number.isInteger(time) && time > 0 && time <= LAST_TIME) return time
  throw optionError(
    option,
    'the time at which the run was due: a valid Date, whole milliseconds since 1970, or a Temporal.Instant',
    lockName,
  )
}

/**
 * How many milliseconds a slot may lie ahead of the storage's clock. Even clocks that are synchronised only now and then differ by
 * less. An instance whose clock is further ahead would acquire future slots, and keep all others from running.
 */
export const SLOT_AT_MOST_AHEAD = 60_000

/** How many tokens, one per millisecond, fit between two slots of a lock with `untilSucceeded`. */
export const RETRY_STEPS = 1_000

/**
 * Returns the next token, in milliseconds since 1970, for a slot that is acquired again because its last run did not succeed. For
 * providers that support `untilSucceeded`. The token grows with each of the first 998 retries.
 *
 * @param lockedAt the token of the last acquisition
 * @returns `undefined` if that acquisition was for another slot
 */
export function tokenOfRetry(slot: number, lockedAt: number): number | undefined {
  const retries = lockedAt - slot
  if (retries < 0 || retries > RETRY_STEPS - 2) return undefined
  return slot + Math.min(retries + 1, RETRY_STEPS - 2)
}
