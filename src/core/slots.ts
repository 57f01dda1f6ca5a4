import { invalid, type LockError } from './errors'
import { time } from './time'

/** A cron expression that knows when it was due: croner's `Cron`, from version 10. */
export interface CronLike {
  /** The last times before the reference, the latest first. */
  previousRuns(count: number, reference?: Date): readonly Date[]
}

/** A `CronTime` of the package `cron`, which `@nestjs/schedule` uses. Its times are a `DateTime` of luxon. */
export interface CronTimeLike {
  /** The expression, or the only time. */
  readonly source:
    | string
    | {
        /** Milliseconds since 1970. */
        toMillis(): number
      }
  /** The next time at which the expression is due, with the time zone in which it is read, such as `Europe/Berlin`. */
  sendAt(): { readonly zoneName: string | null }
  /** The first time after another at which the expression is due. */
  getNextDateFrom(
    start: Date,
    timeZone?: string,
  ): {
    /** Milliseconds since 1970. */
    toMillis(): number
  }
}

/** A timer may fire a moment before its time: by this many milliseconds. */
const TIMER_EARLY = 50
const SECOND = 1_000
/** Of two 29ths of February. */
const LONGEST_INTERVAL = 8 * 366 * 86_400 * SECOND

/**
 * When a run that begins now was due: the latest time of the expression that is not in the future. With the same expression and
 * time zone it is the same on every instance, unless one is late by a whole interval.
 *
 * ```ts
 * const everyQuarter = new Cron('0,15,30,45 * * * *', { timezone: 'Europe/Berlin' })
 * executor.executeWithLock({ name: 'report', lockAtMostFor: '10m', slot: slotOf(everyQuarter) }, sendReport)
 * ```
 *
 * @param cron a `Cron` of croner, or a `CronTime` of the package `cron`: `job.cronTime`
 * @param now milliseconds since 1970, or a `Date`. Default: the clock of this process
 * @throws LockError `INVALID_CONFIGURATION` when the expression was never due
 */
export function slotOf(cron: CronLike | CronTimeLike, now: Date | number = time.wall()): Date {
  const slot = lastDue(cron, Number(now))
  if (slot !== undefined) return new Date(slot)
  throw invalid('The cron expression was never due, so there is no slot.')
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

/** The times of one expression. The library only looks forward, and looks for long: as seldom and as near as possible. */
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

/**
 * How many milliseconds a slot may lie ahead of the storage's clock: clocks that are set now and then differ by less. An instance
 * whose clock is further ahead would acquire the slots of the future, and keep all others from running.
 */
export const SLOT_AT_MOST_AHEAD = 60_000

/** Between two slots of a lock that is acquired until it succeeded there is room for that many tokens, a millisecond each. */
export const RETRY_STEPS = 1_000

/**
 * For a provider whose row has this slot already, in a run that did not succeed: its next token, in milliseconds since 1970. It
 * grows with the first 998 retries.
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
 * For a provider that sees by the clock of its storage that a slot is too far in the future.
 *
 * @param now the storage's clock, in milliseconds since 1970
 */
export function slotTooFarAhead(name: string, slot: number, now: number): LockError {
  const told = (time: number): string => new Date(time).toISOString()
  return invalid(
    `The slot of lock '${name}', ${told(slot)}, lies more than a minute ahead of the database's clock, ${told(now)}. The clock of this process says ${told(time.wall())} – set the one that is wrong; if both are right, give the time at which this run was due.`,
    name,
  )
}
