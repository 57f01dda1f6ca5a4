import { TIMER_EARLY } from '../core'

/** A `CronTime` of the package `cron`, which `@nestjs/schedule` uses. */
export interface CronTimeLike {
  /** The first time after another at which the expression is due, as a `DateTime` of luxon. */
  getNextDateFrom(start: Date, timeZone?: string): LuxonDateTimeLike
}

/** What this library uses of luxon's `DateTime`. */
export interface LuxonDateTimeLike {
  /** Milliseconds since 1970. */
  toMillis(): number
}

/** The class `CronTime` of the package `cron`. */
export type CronTimeClass = new (...args: never[]) => CronTimeLike

/** What `@Cron` leaves on a method. */
interface CronOptions {
  readonly cronTime: unknown
  readonly timeZone?: string
  readonly utcOffset?: number
}

const METADATA = 'SCHEDULE_CRON_OPTIONS'
const LONGEST_INTERVAL = 10 * 366 * 86_400_000

/** When a run of the method that begins now was due, in milliseconds since 1970; `undefined` without a `@Cron` of an expression. */
export function cronSlot(method: object, CronTime: CronTimeClass, now = Date.now()): number | undefined {
  const options = readMetadata(method) as CronOptions | undefined
  if (typeof options?.cronTime !== 'string') return undefined
  const { cronTime, timeZone, utcOffset } = options
  const cron = new CronTime(...([cronTime, timeZone ?? null, utcOffset ?? null] as never[]))
  const next = (start: number): number => cron.getNextDateFrom(new Date(start), timeZone).toMillis()
  return lastDue(next, now + TIMER_EARLY)
}

/** Whether a method has a `@Cron`. */
export function hasCron(method: object): boolean {
  return readMetadata(method) !== undefined
}

/** By `reflect-metadata`, which Nest loads. */
function readMetadata(method: object): unknown {
  const reflect = Reflect as { getMetadata?(key: string, target: object): unknown }
  return reflect.getMetadata?.(METADATA, method)
}

/** The library only looks forward: so from further and further back. */
function lastDue(next: (start: number) => number, now: number): number | undefined {
  for (let back = 2_000; back < LONGEST_INTERVAL; back *= 2) {
    let due = next(now - back)
    if (due > now) continue
    for (let following = next(due); following > due && following <= now; following = next(due))
      due = following
    return due
  }
  return undefined
}
