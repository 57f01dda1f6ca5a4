import { invalid, type LockError } from './errors'
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

/** The last millisecond of the calendar that all databases have. */
export const LAST_TIME = Date.UTC(10_000, 0) - 1

/**
 * @returns the slot in milliseconds since 1970
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkSlot(name: string, slot: unknown): number {
  // Recognises a `Date` of another realm too, as test runners have them.
  const isDate = Object.prototype.toString.call(slot) === '[object Date]'
  const time = isDate ? (slot as Date).getTime() : slot
  if (typeof time === 'number' && Number.isInteger(time) && time > 0 && time <= LAST_TIME) return time
  throw invalid(
    `slot of lock '${name}' must be the time at which the run was due – pass a valid Date, or whole milliseconds since 1970.`,
    name,
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
