import { LockError } from './errors'
import { Lease, sleep, time } from './time'

/** The first interval between two attempts, which then doubles, and the longest one. In milliseconds. */
const FIRST_INTERVAL = 500
const LONGEST_INTERVAL = 30_000

/** Whether an error means that the database did not answer as it should, and may do so later. A missing table is an answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof LockError && ['TIMEOUT', 'DATABASE_ERROR'].includes(error.code)
}

/**
 * Repeats what a process does once, when it starts, for as long as the database fails: the database may start later than the process.
 *
 * @param attempt makes no difference if it is repeated
 * @param limits `atMost`: how long to repeat it, in milliseconds; `signal`: ends it early
 * @param isWorthRepeating decides about an error
 * @throws what the last attempt has thrown
 */
export async function untilAnswered<T>(
  attempt: () => Promise<T>,
  { atMost, signal }: { readonly atMost: number; readonly signal?: AbortSignal | undefined },
  isWorthRepeating: (error: unknown) => boolean = isUnanswered,
): Promise<T> {
  const lease = new Lease(atMost)
  for (let interval = FIRST_INTERVAL; ; interval = Math.min(2 * interval, LONGEST_INTERVAL)) {
    try {
      return await attempt()
    } catch (error) {
      const left = lease.remaining()
      if (left === 0 || !isWorthRepeating(error)) throw error
      await sleep(Math.min(left, time.jittered(interval)), ...(signal ? [signal] : []))
      if (signal?.aborted) throw error
    }
  }
}
