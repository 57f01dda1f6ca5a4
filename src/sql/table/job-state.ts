import { formatDuration, isInTheWay, missedAt, time, type KnownJob } from '../../core/internal'
import { isPause, LOST, processOf, type LastRun } from '../owner'
import { foreignClock, isHeldForEver, wasAcquired, type LockRecord } from '../records'
import { overdueLock } from './overdue'

// What people call a lock: a job that runs, is late, has failed. The page and the command line use the same words.

/**
 * The states of a job, those that need a person first:
 *
 * - `stuck` nobody can acquire its lock, and that does not change by itself
 * - `missed` it was due, its lock was free, and nobody ran it
 * - `late` it was acquired longer ago than its limit, or its run is in the way of due times
 * - `died` the last lease ended without an outcome
 * - `failed` its last run failed, or was longer than its lease may last
 * - `running`, `paused`, `idle`
 */
export const JOB_STATES = ['stuck', 'missed', 'late', 'died', 'failed', 'running', 'paused', 'idle'] as const
export type JobState = (typeof JOB_STATES)[number]

/** The states that need a person. */
const TROUBLE: readonly JobState[] = ['stuck', 'missed', 'late', 'died', 'failed']

/** Returns whether a job in this state needs a person. */
export function isTrouble(state: JobState): boolean {
  return TROUBLE.includes(state)
}

/** A job as people see it. */
export interface JobView {
  readonly name: string
  readonly state: JobState
  /** Why it is in this state, for how long or until when; may be empty. */
  readonly why: string
  /** When the job is due next, if that is known. */
  readonly nextDue?: Date
  /** When it was due and nobody ran it. */
  readonly missedAt?: Date
  /** How long ago it may have been acquired last, in milliseconds, if there is a limit. */
  readonly overdueAfter?: number
  /** Absent for an expected lock that was never acquired. */
  readonly record?: LockRecord
}

/** What is expected of one job. */
export interface Expected {
  /** How long ago its last acquisition may be, in milliseconds. */
  readonly overdueAfter?: number | undefined
  readonly job?: KnownJob | undefined
}

/** Describes a job by its lock and what is expected of it. */
export function jobView(
  name: string,
  record: LockRecord | undefined,
  { overdueAfter, job = {} }: Expected = {},
): JobView {
  const now = record?.now.getTime() ?? time.wall()
  const missed = missedAt(job, record)
  const due = job.due?.next(now)
  const [state, why] = stateOf(name, record, { overdueAfter, job, missed })
  return {
    ...{ name, state, why },
    ...(due !== undefined && { nextDue: new Date(due) }),
    ...(missed !== undefined && { missedAt: new Date(missed) }),
    ...(overdueAfter !== undefined && { overdueAfter }),
    ...(record && { record }),
  }
}

/** `tenant-9` is before `tenant-10`. */
const byName = new Intl.Collator('en', { numeric: true })

/** Sorts jobs: trouble first, then by name. */
export function troubleFirst(one: JobView, other: JobView): number {
  const byState = JOB_STATES.indexOf(one.state) - JOB_STATES.indexOf(other.state)
  return byState || byName.compare(one.name, other.name)
}

/** The first sentence about many jobs. */
export function summary(jobs: readonly Pick<JobView, 'state'>[]): string {
  const trouble = jobs.filter(({ state }) => isTrouble(state)).length
  const count = `${jobs.length} jobs`
  if (jobs.length === 0) return 'There are no jobs yet'
  if (jobs.length === 1) return `The only job ${trouble > 0 ? 'needs you' : 'is well'}`
  return trouble > 0 ? `${trouble} of ${count} need${trouble === 1 ? 's' : ''} you` : `All ${count} are well`
}

function stateOf(
  name: string,
  record: LockRecord | undefined,
  {
    overdueAfter,
    job,
    missed,
  }: { overdueAfter?: number | undefined; job: KnownJob; missed?: number | undefined },
): [JobState, string] {
  const stuck = record && whyStuck(record)
  if (stuck !== undefined) return ['stuck', stuck]
  const now = record?.now.getTime() ?? time.wall()
  if (record?.paused) return ['paused', `${left(record)} left`]
  if (missed !== undefined) return ['missed', `due ${formatDuration(now - missed)} ago, nobody ran it`]
  if (overdueAfter !== undefined && overdueLock(name, overdueAfter, record))
    return [
      'late',
      `limit ${formatDuration(overdueAfter)}${record && wasAcquired(record) ? '' : ', it never ran'}`,
    ]
  if (!record) return ['idle', 'never ran']
  const { held, lastRun } = record
  if (held && !lastRun) return running(record, job)
  const ago = lastRun?.endedAt ? `${formatDuration(now - lastRun.endedAt.getTime())} ago` : ''
  if (lastRun?.outcome === 'died') return ['died', ago]
  if (lastRun?.error === LOST) return ['failed', outlived(lastRun)]
  if (lastRun?.outcome === 'failed') return ['failed', ago]
  if (held) return ['idle', `its lock is kept for ${left(record)}`]
  return ['idle', wasAcquired(record) ? '' : 'never ran']
}

function running(record: LockRecord, job: KnownJob): [JobState, string] {
  const { lockedAt, lockUntil, now } = record
  const lasted = formatDuration(Math.max(0, now.getTime() - lockedAt.getTime()))
  const lease = formatDuration(Math.max(0, lockUntil.getTime() - lockedAt.getTime()))
  if (isInTheWay(job, record)) return ['late', `running for ${lasted} of ${lease}, several due times passed`]
  return ['running', `for ${lasted} of ${lease}`]
}

function outlived({ duration }: LastRun): string {
  return `${duration === undefined ? '' : `ran ${formatDuration(duration)}, `}longer than its lease may last`
}

/** No run has a longer lease: it is a mistake, in milliseconds. */
const LONGEST_RUN = 366 * 86_400_000

/** Returns why nobody can acquire the lock, although no run needs it; `undefined` if it is not stuck. */
export function whyStuck(record: LockRecord): string | undefined {
  const { held, paused, lockUntil, lockedBy, lastRun, now } = record
  if (isHeldForEver(record) && !paused) return 'held for ever'
  const ahead = foreignClock(record)
  if (ahead > 0) return `acquired ${formatDuration(ahead)} ahead of the clock of the database`
  if (!held || paused) return undefined
  if (lockUntil.getTime() - now.getTime() > LONGEST_RUN) return `held until ${lockUntil.getUTCFullYear()}`
  return !lastRun && !isPause(lockedBy) && processOf(lockedBy) === 'gone'
    ? `its process is gone, ${left(record)} left`
    : undefined
}

function left(record: LockRecord): string {
  return isHeldForEver(record)
    ? 'for ever'
    : formatDuration(record.lockUntil.getTime() - record.now.getTime())
}
