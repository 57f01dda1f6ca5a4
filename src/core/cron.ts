import { configurationError } from './errors'
import type { LockConfiguration } from './lock'
import { timeOf } from './slots'
import { time } from './time'

/** A cron expression that can compute when it is due: croner's `Cron`, version 6 or later. */
export interface CronLike {
  /** Returns the first time after the reference at which the expression is due. */
  nextRun(reference?: Date): Date | null
  /** Returns the last times before the reference, latest first. Croner has it since version 10. */
  previousRuns?(count: number, reference?: Date): readonly Date[]
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

/** What node-cron 4 passes to a task, and to listeners of `execution:missed`: its `TaskContext`. */
export interface NodeCronContextLike {
  /** When the fire was due; if the run was invoked, when that was. */
  readonly date: Date
  /** Missing in the context of a missed fire. */
  readonly execution?:
    | {
        /** `scheduled`, or `invoked` by `task.execute()`. */
        readonly reason: string
      }
    | undefined
}

/** How early a timer may fire, in milliseconds. */
const TIMER_TOLERANCE = 50
const SECOND = 1_000
/** Less than the difference between any two time zones. */
const SAME_ZONE = 10 * 60 * SECOND
/** Eight years, the longest interval of an expression: 29 February 2096 to 29 February 2104. In milliseconds. */
const LONGEST_INTERVAL = 8 * 366 * 86_400 * SECOND

/**
 * Returns the slot of a run that starts now: the latest time, not in the future, at which the cron expression was due. Every
 * instance with the same expression and time zone gets the same slot, unless one of them starts a whole interval late. Instances
 * with different expressions, such as one that is computed when the process starts, get different slots: use `lockAtLeastFor` there.
 *
 * ```ts
 * const everyQuarter = new Cron('0,15,30,45 * * * *', { timezone: 'Europe/Berlin' })
 * executor.executeWithLock({ name: 'report', lockAtMostFor: '10m', slot: slotOf(everyQuarter) }, sendReport)
 * ```
 *
 * @param cron croner's `Cron`, a `CronTime` of the package `cron`: `job.cronTime`, the context that node-cron 4 passes to a task, or the
 *   date that node-cron 3 and node-schedule pass
 * @param now a time, as for a slot. Default: the clock of this process. If another machine makes the call, such as by HTTP, pass
 *   `Date.now() + 30_000`: its clock may be ahead, and the call would get the previous slot, which has already run
 * @throws LockError `INVALID_CONFIGURATION` if the expression was never due, for a croner job with the option `interval`, for a run
 *   that node-cron was told to start, for a date of node-cron 3 with the option `timezone`, or for anything but such an object
 */
export function slotOf(
  cron: CronLike | CronTimeLike | NodeCronContextLike | Date | 'manual' | 'init',
  now: NonNullable<LockConfiguration['slot']> = time.wall(),
): Date {
  const due = timeOf(cron)
  if (typeof due === 'number' && typeof cron === 'object') return secondOf(due, Number(timeOf(now)))
  if (cron === 'manual' || cron === 'init') throw notDue()
  const given = (typeof cron === 'object' ? cron : {}) as Partial<
    CronLike & CronTimeLike & NodeCronContextLike
  > | null
  if (given?.date) return dateOf(given as NodeCronContextLike)
  if (typeof (given?.nextRun ?? given?.getNextDateFrom) !== 'function')
    throw configurationError(
      'slotOf needs the Cron of croner (6 or later), a CronTime of the package cron (2.3 or later), or what node-cron (3 or later) or node-schedule passes to a task – pass this object, not an expression; for other versions and schedulers, pass a Cron or a CronTime with the same expression and time zone. To start a job by hand, use runNow.',
    )
  const slot = lastDue(given as CronLike | CronTimeLike, Number(timeOf(now)))
  if (slot !== undefined) return new Date(slot)
  throw configurationError(
    'The cron expression was never due, so there is no slot – leave slot out, or correct the expression. (With croner before 10, a job that is stopped, or in the last of its maxRuns, has no slot either.)',
  )
}

/** Returns when the fire was due. A run that was invoked has the time of the call, which is another one on each instance. */
function dateOf({ date, execution }: NodeCronContextLike): Date {
  if (execution?.reason !== 'invoked') return date
  throw notDue()
}

/** A timer fires within the second that was due. With a time zone, node-cron 3 passes the time of the clocks there as if it were here. */
function secondOf(due: number, now: number): Date {
  if (Math.abs(now - due) < SAME_ZONE) return new Date(Math.floor(due / SECOND) * SECOND)
  throw configurationError(
    "The date that was passed to slotOf is not that of a run that starts now – with the option timezone of node-cron 3, use croner's Cron with the same expression and time zone.",
  )
}

function notDue() {
  return configurationError(
    "A run that was started by node-cron's execute(), now() or runOnInit has no due time, so it did not run – call runNow(() => task.execute()). For missed fires, pass the job itself: task.on('execution:missed', job).",
  )
}

/** Returns the same time as `slotOf`, in milliseconds since 1970; `undefined` if the expression was never due. */
export function lastDue(cron: CronLike | CronTimeLike, now: number): number | undefined {
  const latest = now + TIMER_TOLERANCE
  if ('getNextDateFrom' in cron) return lastBefore(latest, nextAfter(cron))
  if (cron.options?.interval)
    throw configurationError(
      "croner's option interval counts from the last run of each instance, so the runs have no slots – write the interval as an expression, such as '*/4 * * * * *', or leave slot out and set lockAtLeastFor.",
    )
  const next = (Math.floor(latest / SECOND) + 1) * SECOND
  try {
    if (cron.previousRuns) return cron.previousRuns(1, new Date(next))[0]?.getTime()
  } catch {
    // croner 10 throws a TypeError where it looks for a 29th of February in the past.
  }
  return lastBefore(latest, nextAfter(cron))
}

/** Returns the first due time after another time, if there is one, in milliseconds since 1970. */
type NextAfter = (start: Date) => number | undefined

/** Reads the due times that lie ahead. */
export function nextAfter(cron: CronLike | CronTimeLike): NextAfter {
  if (!('getNextDateFrom' in cron)) return (start) => cron.nextRun(start)?.getTime()
  if (typeof cron.source === 'string') {
    // `sendAt` has already resolved the configured time zone or UTC offset.
    const zone = cron.sendAt().zoneName ?? undefined
    return (start) => cron.getNextDateFrom(start, zone).toMillis()
  }
  const only = cron.source.toMillis()
  return (start) => (only > start.getTime() ? only : undefined)
}

/** Finds the last due time with a library that searches only forwards, and slowly: starts close to the result. */
export function lastBefore(latest: number, after: NextAfter): number | undefined {
  const next = (start: number): number => after(new Date(start)) ?? Infinity
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
