import { invalid } from './errors'
import { time } from './time'

/** A cron expression that knows when it was due: croner's `Cron`, from version 10. */
export interface CronLike {
  /** The last times before the reference, latest first. */
  previousRuns(count: number, reference?: Date): readonly Date[]
}

/** A `CronTime` of the package `cron`, which `@nestjs/schedule` uses. Its times are luxon's `DateTime`. */
export interface CronTimeLike {
  /** The expression; or, for a job that runs once, its time. */
  readonly source:
    | string
    | {
        /** Milliseconds since 1970. */
        toMillis(): number
      }
  /** The next time at which the expression is due, in the time zone of the expression, such as `Europe/Berlin`. */
  sendAt(): { readonly zoneName: string | null }
  /** The first time after `start` at which the expression is due. */
  getNextDateFrom(
    start: Date,
    timeZone?: string,
  ): {
    /** Milliseconds since 1970. */
    toMillis(): number
  }
}

/** By how many milliseconds a timer may fire too early. */
const TIMER_EARLY = 50
const SECOND = 1_000
/** Of two 29ths of February. */
const LONGEST_INTERVAL = 8 * 366 * 86_400 * SECOND

/**
 * Finds out when a run that begins now was due: the latest time of the cron expression that does not lie in the future. It is
 * the same on every instance that has the same expression and time zone, unless one is late by a whole interval.
 *
 * ```ts
 * const everyQuarter = new Cron('0,15,30,45 * * * *', { timezone: 'Europe/Berlin' })
 * executor.executeWithLock({ name: 'report', lockAtMostFor: '10m', slot: slotOf(everyQuarter) }, sendReport)
 * ```
 *
 * @param cron croner's `Cron`, or a `CronTime` of the package `cron`: `job.cronTime`
 * @param now milliseconds since 1970, or a `Date`. Default: the time of this process's clock
 * @returns the slot, to pass as `slot`
 * @throws LockError `INVALID_CONFIGURATION` when the expression was never due
 */
export function slotOf(cron: CronLike | CronTimeLike, now: Date | number = time.wall()): Date {
  const slot = lastDue(cron, Number(now))
  if (slot !== undefined) return new Date(slot)
  throw invalid(
    'The cron expression was never due, so there is no slot – leave slot out, or correct the expression.',
  )
}

/** The same in milliseconds since 1970; `undefined` when the expression was never due. */
export function lastDue(cron: CronLike | CronTimeLike, now: number): number | undefined {
  const latest = now + TIMER_EARLY
  if ('previousRuns' in cron) {
    const next = (Math.floor(latest / SECOND) + 1) * SECOND
    return cron.previousRuns(1, new Date(next))[0]?.getTime()
  }
  if (typeof cron.source !== 'string') {
    const only = cron.source.toMillis()
    return only <= latest ? only : undefined
  }
  let times = dueTimes.get(cron)
  if (!times) dueTimes.set(cron, (times = new DueTimes(cron)))
  return times.last(latest)
}

const dueTimes = new WeakMap<CronTimeLike, DueTimes>()

/** The times of one expression. The package `cron` only looks forward, and slowly: so call it rarely, and from a time nearby. */
class DueTimes {
  readonly #next: (start: number) => number
  /** No time is due between these two. */
  #due = Infinity
  #following = Infinity

  constructor(cron: CronTimeLike) {
    // Whatever it makes of its time zone or offset.
    const zone = cron.sendAt().zoneName ?? undefined
    this.#next = (start) => cron.getNextDateFrom(new Date(start), zone).toMillis()
  }

  last(now: number): number | undefined {
    if (this.#due <= now && now < this.#following) return this.#due
    const near = this.#next(now - SECOND)
    if (near <= now) return this.#lastFrom(near, now)
    const following = this.#due <= now ? this.#next(this.#due) : now
    if (following > now) {
      this.#following = following
      return this.#due
    }
    for (let back = 4 * SECOND; back < 4 * LONGEST_INTERVAL; back *= 4) {
      const due = this.#next(now - back)
      if (due <= now) return this.#lastFrom(due, now)
    }
    return undefined
  }

  #lastFrom(due: number, now: number): number {
    this.#due = due
    // Expressions count in whole seconds: a timer that is not late needs no further look.
    this.#following = due + SECOND
    while (this.#following <= now) {
      const following = this.#next(this.#due)
      // Where a clock is set back the library may say a time again.
      if (following <= this.#due) break
      if (following <= now) this.#due = following
      this.#following = Math.max(following, this.#due + SECOND)
    }
    return this.#due
  }
}
