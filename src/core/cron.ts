import { invalid } from './errors'
import type { LockConfiguration } from './lock'
import { timeOf } from './slots'
import { time } from './time'

/** A cron expression that can list the times at which it was due: croner's `Cron`, version 10 or later. */
export interface CronLike {
  /** Returns the last times before the reference, latest first. */
  previousRuns(count: number, reference?: Date): readonly Date[]
  /** With `interval`, each instance counts from its own last run, so the runs have no slots. */
  readonly options?: { readonly interval?: number | undefined } | undefined
}

/** A `CronTime` of the package `cron`, which `@nestjs/schedule` uses. Its times are luxon `DateTime` objects. */
export interface CronTimeLike {
  /** The expression; for a job that runs once, the time of that run. */
  readonly source:
    | string
    | {
        /** Milliseconds since 1970. */
        toMillis(): number
      }
  /** Returns the next time at which the expression is due, in the expression's time zone, such as `Europe/Berlin`. */
  sendAt(): { readonly zoneName: string | null }
  /** Returns the first time after `start` at which the expression is due. */
  getNextDateFrom(
    start: Date,
    timeZone?: string,
  ): {
    /** Milliseconds since 1970. */
    toMillis(): number
  }
}

/** How early a timer may fire, in milliseconds. */
const TIMER_TOLERANCE = 50
const SECOND = 1_000
/** Eight years, the longest interval of an expression: 29 February 2096 to 29 February 2104. In milliseconds. */
const LONGEST_INTERVAL = 8 * 366 * 86_400 * SECOND

/**
 * Returns the slot of a run that starts now: the latest time, not in the future, at which the cron expression was due. Every
 * instance with the same expression and time zone gets the same slot, unless one of them starts a whole interval late.
 *
 * ```ts
 * const everyQuarter = new Cron('0,15,30,45 * * * *', { timezone: 'Europe/Berlin' })
 * executor.executeWithLock({ name: 'report', lockAtMostFor: '10m', slot: slotOf(everyQuarter) }, sendReport)
 * ```
 *
 * @param cron croner's `Cron`, or a `CronTime` of the package `cron`: `job.cronTime`
 * @param now a time, as for a slot. Default: the clock of this process
 * @throws LockError `INVALID_CONFIGURATION` if the expression was never due, for a croner job with the option `interval`, or for
 *   anything but such an object
 */
export function slotOf(
  cron: CronLike | CronTimeLike,
  now: NonNullable<LockConfiguration['slot']> = time.wall(),
): Date {
  const given = (typeof cron === 'object' ? cron : {}) as Partial<CronLike & CronTimeLike> | null
  if (typeof (given?.previousRuns ?? given?.getNextDateFrom) !== 'function')
    throw invalid(
      "slotOf needs croner's Cron, or a CronTime of the package cron, not an expression – pass the object.",
    )
  const slot = lastDue(cron, Number(timeOf(now)))
  if (slot !== undefined) return new Date(slot)
  throw invalid(
    'The cron expression was never due, so there is no slot – leave slot out, or correct the expression.',
  )
}

/** Returns the same time as `slotOf`, in milliseconds since 1970; `undefined` if the expression was never due. */
export function lastDue(cron: CronLike | CronTimeLike, now: number): number | undefined {
  const latest = now + TIMER_TOLERANCE
  if ('previousRuns' in cron) {
    if (cron.options?.interval)
      throw invalid(
        "croner's option interval counts from the last run of each instance, so the runs have no slots – write the interval as an expression, such as '*/4 * * * * *', or leave slot out and set lockAtLeastFor.",
      )
    const next = (Math.floor(latest / SECOND) + 1) * SECOND
    return cron.previousRuns(1, new Date(next))[0]?.getTime()
  }
  if (typeof cron.source !== 'string') {
    const only = cron.source.toMillis()
    return only <= latest ? only : undefined
  }
  // `sendAt` has already resolved the configured time zone or UTC offset.
  const zone = cron.sendAt().zoneName ?? undefined
  const next = (start: number): number => cron.getNextDateFrom(new Date(start), zone).toMillis()
  // The package `cron` searches only forwards, and slowly, so start close to the result.
  for (let back = SECOND; back < 4 * LONGEST_INTERVAL; back *= 4) {
    let due = next(latest - back)
    if (due > latest) continue
    // Expressions count in whole seconds, so a timer that is on time needs no further search.
    while (due + SECOND <= latest) {
      const following = next(due)
      // Where clocks are set back, the library may return the same time twice.
      if (following > latest || following <= due) break
      due = following
    }
    return due
  }
  return undefined
}
