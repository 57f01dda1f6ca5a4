import { LockError } from './errors'
import { time } from './time'

/** A cron expression that knows when it was due: croner's `Cron`, from version 10. */
export interface CronLike {
  /** The last times before the reference, the latest first. */
  previousRuns(count: number, reference?: Date): readonly Date[]
}

/** A timer may fire a moment before its time: by this many milliseconds. */
export const TIMER_EARLY = 50
const SECOND = 1_000

/**
 * When a run that begins now was due: the latest time of the expression that is not in the future. With the same expression and
 * time zone it is the same on every instance, unless one is late by a whole interval.
 *
 * ```ts
 * const everyQuarter = new Cron('0,15,30,45 * * * *', { timezone: 'Europe/Berlin' })
 * executor.executeWithLock({ name: 'report', lockAtMostFor: '10m', slot: slotOf(everyQuarter) }, sendReport)
 * ```
 *
 * @param now milliseconds since 1970, or a `Date`. Default: the clock of this process
 * @throws LockError `INVALID_CONFIGURATION` when the expression was never due
 */
export function slotOf(cron: CronLike, now: Date | number = time.wall()): Date {
  const next = (Math.floor((Number(now) + TIMER_EARLY) / SECOND) + 1) * SECOND
  const [slot] = cron.previousRuns(1, new Date(next))
  if (slot) return slot
  throw new LockError('INVALID_CONFIGURATION', 'The cron expression was never due, so there is no slot.')
}
