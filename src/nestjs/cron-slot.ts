import { lastDue, time, type CronTimeLike } from '../core/internal'

/** The class `CronTime` of the package `cron`. */
export type CronTimeClass = new (...args: never[]) => CronTimeLike

/** The metadata that `@Cron` sets on a method. */
interface CronOptions {
  readonly cronTime: unknown
  readonly timeZone?: string
  readonly utcOffset?: number
}

/** Computes when the methods with `@Cron` of one application were due. */
export class CronSlots {
  readonly #cronTimes = new WeakMap<object, CronTimeLike>()

  constructor(private readonly CronTime: CronTimeClass) {}

  /** Whether runs of the method have slots. */
  hasSlots(method: object): boolean {
    return schedulerOf(method) === 'Cron'
  }

  /**
   * Returns when a run of the method that starts now was due, in milliseconds since 1970. Returns `undefined` without `@Cron`, or
   * before the expression is due for the first time.
   */
  slotOf(method: object, now = time.wall()): number | undefined {
    if (!this.hasSlots(method)) return undefined
    const options = metadata('SCHEDULE_CRON_OPTIONS', method) as CronOptions
    let cron = this.#cronTimes.get(options)
    if (!cron) {
      const { cronTime, timeZone = null, utcOffset = null } = options
      cron = new this.CronTime(...([cronTime, timeZone, utcOffset] as never[]))
      this.#cronTimes.set(options, cron)
    }
    return lastDue(cron, now)
  }
}

/** The decorator by which `@nestjs/schedule` calls the method. If it has several, the uppermost counts. */
export function schedulerOf(method: object): 'Cron' | 'Interval' | undefined {
  const type = metadata('SCHEDULER_TYPE', method)
  return type === 1 ? 'Cron' : type === 3 ? 'Interval' : undefined
}

/** Reads metadata with `reflect-metadata`, which Nest loads. */
function metadata(key: string, method: object): unknown {
  const reflect = Reflect as { getMetadata?(key: string, target: object): unknown }
  return reflect.getMetadata?.(key, method)
}
