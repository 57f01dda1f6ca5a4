import { lastBefore, lastDue, nextAfter, type CronLike, type CronTimeLike } from './cron'
import { configurationError } from './errors'
import { aFunction, anObject, parseOptions, type OptionParsers, type ParsedOptions } from './options'
import { NEVER_ACQUIRED, timeOf } from './slots'
import { time } from './time'

// What an app knows of its jobs, and what follows from it: when a job is due next, and whether nobody ran it when it was due.

/**
 * When a job is due: the scheduler's own object, or a function that returns the first due time after another time.
 *
 * From the objects of node-cron and node-schedule only future times are known, so a due time that passed before the object was first
 * read is never found to be missed.
 */
export type Due =
  /** Croner's `Cron`. */
  | CronLike
  /** A `CronTime` of the package `cron`. */
  | CronTimeLike
  /** Its `CronJob`. */
  | { readonly cronTime: CronTimeLike }
  /** A task of node-cron 4. */
  | {
      /** Returns when the task is due next. */
      getNextRun(): Date | null
    }
  /** A `Job` of node-schedule. */
  | {
      /** Returns when the job is due next. */
      nextInvocation(): {
        /** Milliseconds since 1970. */
        getTime(): number
      } | null
    }
  | ((after: Date) => Date | null | undefined)

/** What an app knows of one job. */
export interface Job {
  /** When the job is due. Default: unknown. */
  readonly due?: Due | undefined
  /**
   * Calls the job, as for `runNow`: `() => reports.nightly()`, where `nightly` is a wrapped function or has `@SchedulerLock`. Gets
   * who starts the run, and why. Default: the job cannot be started by hand.
   */
  readonly run?:
    | ((by: {
        /** Who starts the run, if that is known. */
        readonly user: string | undefined
        /** Why. */
        readonly reason: string
      }) => unknown)
    | undefined
}

/** The due times of a job, in milliseconds since 1970; `undefined` if there is none, or it is unknown. */
export interface DueTimes {
  /** When this process read them first. */
  readonly since: number
  /** The first one after this time. */
  next(now: number): number | undefined
  /** The last one before this time. */
  last(now: number): number | undefined
}

const JOB_OPTIONS = { due: aDue, run: aFunction } satisfies OptionParsers<Job>

/** A job whose option `due` was read. */
export type KnownJob = ParsedOptions<Job, typeof JOB_OPTIONS>

/**
 * Reads what an app knows of its jobs, by the names of their locks.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseJobs(jobs: Readonly<Record<string, Job>>): ReadonlyMap<string, KnownJob> {
  return new Map(Object.entries(anObject(jobs, 'jobs')).map(([name, job]) => [name, parseJob(job, name)]))
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function parseJob(job: Job, name: string): KnownJob {
  return parseOptions(job, JOB_OPTIONS, `job '${name}'`, name)
}

/** What was read of each object, because each call of a check passes the same ones. */
const known = new WeakMap<object, DueTimes>()

/** @throws LockError `INVALID_CONFIGURATION` */
export function aDue(due: Due, _option: string, lockName?: string): DueTimes {
  const times = known.get(due) ?? { since: time.wall(), ...dueTimes(due, lockName) }
  known.set(due, times)
  return times
}

/** @throws LockError `INVALID_CONFIGURATION` */
function dueTimes(due: Due, lockName?: string): Omit<DueTimes, 'since'> {
  const given = Object(due) as Partial<Exclude<Due, (after: Date) => unknown>> & Record<string, unknown>
  if (typeof due === 'function') return timesOf((after) => milliseconds(due(after)))
  // Read each time, because a job may get another expression.
  const cron = () => (given.cronTime ?? given) as CronLike | CronTimeLike
  if ('getNextDateFrom' in cron() || 'nextRun' in cron())
    return { last: (now) => lastDue(cron(), now), next: (now) => nextAfter(cron())(new Date(now)) }
  for (const method of ['getNextRun', 'nextInvocation'] as const) {
    const { [method]: next } = given
    if (typeof next === 'function') return remembered(() => milliseconds(next.call(due) as Date | null))
  }
  throw configurationError(
    `due of job '${lockName ?? ''}' is not known – pass croner's Cron, a CronJob of the package cron, a task of node-cron 4, a Job of node-schedule, or a function that returns the first due time after another time.`,
    lockName,
    'due',
  )
}

function milliseconds(date: { getTime?(): number } | Date | null | undefined): number | undefined {
  const value = Number(date?.getTime?.() ?? timeOf(date) ?? NaN)
  return Number.isNaN(value) ? undefined : value
}

function timesOf(after: (start: Date) => number | undefined): Omit<DueTimes, 'since'> {
  return { next: (now) => after(new Date(now)), last: (now) => lastBefore(now, after) }
}

/** So many seconds are longer than the minute after which a run is missed. */
const REMEMBERED = 100

/** Remembers which due times were ahead, because the scheduler forgets those that are over. */
function remembered(read: () => number | undefined): Omit<DueTimes, 'since'> {
  let ahead = read()
  /** The latest first. */
  const over: number[] = []
  const update = (): void => {
    const next = read()
    if (next === ahead) return
    if (ahead !== undefined && ahead <= time.wall()) over.unshift(ahead)
    over.splice(REMEMBERED)
    ahead = next
  }
  return {
    next() {
      update()
      return ahead
    },
    last(now) {
      update()
      return [ahead, ...over].find((due) => due !== undefined && due <= now)
    },
  }
}

/** How late a run may begin, in milliseconds: clocks differ, and pools are busy. */
const GRACE = 60_000

/** A lock as its row records it, as far as it matters here. */
export interface AcquiredLock {
  readonly lockedAt: Date
  readonly lockUntil: Date
  /** By the same clock. */
  readonly now: Date
}

/**
 * Returns the last time at which a job was due and nobody acquired its lock, although it was free. With slots that is precise. Without
 * them, a lock that was acquired up to a minute before its due time was acquired for it, because clocks differ. A lock that was never
 * acquired may be that of a new job, so only due times count that this process has seen.
 *
 * @param lock `undefined`: never acquired
 */
export function missedAt({ due }: KnownJob, lock: AcquiredLock | undefined): number | undefined {
  if (!due) return undefined
  const last = due.last((lock?.now.getTime() ?? time.wall()) - GRACE)
  const lockedAt = lock?.lockedAt.getTime() ?? 0
  const freeSince = Math.max(lock?.lockUntil.getTime() ?? 0, lockedAt > NEVER_ACQUIRED ? lockedAt : due.since)
  const isSlot = lockedAt > NEVER_ACQUIRED && due.last(lockedAt) === lockedAt
  return last !== undefined && last - (isSlot ? 0 : GRACE) > freeSince ? last : undefined
}

/**
 * Returns whether a job has missed the time at which it was last due, as far as its row shows. Not if nobody has run it before: it is
 * new. Nor if the slot of its last run is not a due time: it has been moved to another time since.
 *
 * @param due its due times, unless only the last one is known
 */
export function hasMissed(
  lastDue: number,
  due: DueTimes | undefined,
  lock: { readonly lockedAt: Date; readonly lastRun?: { readonly outcome: string } } | undefined,
): boolean {
  const lockedAt = lock?.lockedAt.getTime() ?? 0
  if (lockedAt <= NEVER_ACQUIRED) return false
  if (lockedAt >= lastDue) return lock?.lastRun?.outcome !== 'succeeded'
  // Any other time than a slot has milliseconds, nearly always.
  const isSlot = lockedAt % 1_000 === 0
  return !due || !isSlot || due.last(lockedAt) === lockedAt
}

/** Of how many due times in a row a run must have been in the way, before it is suspected to hang. */
const DUE_TIMES = 3

/** Whether a run that holds its lock was in the way of so many due times that it hangs, or its process is gone. */
export function isInTheWay({ due }: KnownJob, { lockedAt, now }: AcquiredLock): boolean {
  let last: number | undefined = now.getTime()
  for (let count = 0; count < DUE_TIMES && last !== undefined; count++)
    last = due?.last(last - (count === 0 ? GRACE : 1_000))
  return last !== undefined && last > lockedAt.getTime()
}
