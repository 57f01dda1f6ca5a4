import { lastDue, time, type CronTimeLike } from '../core/internal'
import type { ShedLockModuleOptions } from './shed-lock-module-options'

/** The class `CronTime` of the package `cron`. */
export type CronTimeClass = NonNullable<ShedLockModuleOptions['cronTime']>

/** The metadata that `@Cron` sets on a method. */
export interface CronOptions {
  readonly cronTime: string | Date
  readonly name?: string
  readonly timeZone?: string
  readonly utcOffset?: number
  readonly disabled?: boolean
}

/** What `@nestjs/schedule` keeps about its jobs: the registry has the jobs, and the orchestrator their names and `@Cron` options. */
interface Scheduler {
  getCronJobs?(): ReadonlyMap<string, { readonly cronTime: CronTimeLike }>
  readonly cronJobs?: Readonly<Record<string, { readonly options?: CronOptions }>>
  mountCron?: unknown
}

/** Computes when the methods with `@Cron` of one application were due. */
export class CronSlots {
  readonly #crons = new WeakMap<object, Map<PropertyKey, CronOptions | undefined>>()
  #registry: Scheduler | undefined
  #orchestrator: Scheduler | undefined

  constructor(private readonly CronTime: CronTimeClass) {}

  /** Remembers the application's scheduler, if the instance is a part of it: its jobs may change while the application runs. */
  findScheduler(instance: Scheduler): void {
    if ('getCronJobs' in instance) this.#registry = instance
    else if ('mountCron' in instance) this.#orchestrator = instance
  }

  /** Whether the application has a scheduler, which is a part of `ScheduleModule`. */
  get hasScheduler(): boolean {
    return this.#orchestrator !== undefined
  }

  /** Whether the scheduler of this application runs the method. */
  isScheduled(cron: CronOptions): boolean {
    return cron.disabled !== true && this.#nameOf(cron) !== undefined
  }

  /**
   * Returns when a run of the method that starts now was due, in milliseconds since 1970. Returns `undefined` without `@Cron`, or
   * before the expression is due for the first time.
   */
  slotOf(instance: object, name: PropertyKey, now = time.wall()): number | undefined {
    const options = this.cronOf(instance, name)
    return options && lastDue(this.#cronTimeOf(options), now)
  }

  /** Returns when the method is due, for the lock page. The expression is read when it is needed, because `setTime` may change it. */
  dueOf(cron: CronOptions): { readonly cronTime: CronTimeLike } {
    const cronTime = (): CronTimeLike => this.#cronTimeOf(cron)
    return {
      get cronTime() {
        return cronTime()
      },
    }
  }

  /** Returns the expression of the scheduler's job, because `setTime` may have changed it, or otherwise that of `@Cron`. */
  #cronTimeOf(options: CronOptions): CronTimeLike {
    const job = this.#registry?.getCronJobs?.().get(this.#nameOf(options) ?? '')
    if (job) return job.cronTime
    const { cronTime, timeZone = null, utcOffset } = options
    return utcOffset === undefined
      ? new this.CronTime(cronTime, timeZone, null)
      : new this.CronTime(cronTime, null, utcOffset)
  }

  /** Finds the name of the method's job, which is random unless `@Cron` has one. */
  #nameOf(options: CronOptions): string | undefined {
    const jobs = Object.entries(this.#orchestrator?.cronJobs ?? {})
    return jobs.find(([, job]) => job.options === options)?.[0]
  }

  /** Reads the `@Cron` of a method once, because agents may replace the method after the scheduler has read it. */
  cronOf(instance: object, name: PropertyKey): CronOptions | undefined {
    const prototype = Object.getPrototypeOf(instance) as object
    const crons = this.#crons.get(prototype) ?? new Map<PropertyKey, CronOptions | undefined>()
    this.#crons.set(prototype, crons)
    if (!crons.has(name)) {
      const isCron = schedulerOf(instance, name) === 'Cron'
      const options = isCron ? metadata('SCHEDULE_CRON_OPTIONS', instance, name) : undefined
      crons.set(name, options as CronOptions | undefined)
    }
    return crons.get(name)
  }
}

/** The decorator by which `@nestjs/schedule` calls the method. If it has several, the uppermost counts. */
export function schedulerOf(instance: object, name: PropertyKey): 'Cron' | 'Interval' | undefined {
  const type = metadata('SCHEDULER_TYPE', instance, name)
  return type === 1 ? 'Cron' : type === 3 ? 'Interval' : undefined
}

/** Describes when the method is due. Two methods of one description are due at the same times. Returns `undefined` if it never is. */
export function scheduleOf(instance: object, name: PropertyKey): string | undefined {
  for (const type of ['CRON', 'INTERVAL', 'TIMEOUT']) {
    const options = metadata(`SCHEDULE_${type}_OPTIONS`, instance, name) as Partial<CronOptions> | undefined
    if (options && !options.disabled) return JSON.stringify([type, { ...options, name: undefined }])
  }
  return undefined
}

/**
 * Reads metadata of the outermost function, as `@nestjs/schedule` does, with `reflect-metadata`, which Nest loads. It is the
 * function of the class, because mocks and agents replace functions of instances.
 */
function metadata(key: string, instance: object, name: PropertyKey): unknown {
  const { [name]: method } = Object.getPrototypeOf(instance) as Record<PropertyKey, unknown>
  const reflect = Reflect as { getMetadata?(key: string, target: unknown): unknown }
  return typeof method === 'function' ? reflect.getMetadata?.(key, method) : undefined
}
