import {
  aDuration,
  formatDuration,
  isInTheWay,
  isTemporal,
  missedAt,
  optionError,
  parseJob,
  parseLockName,
  time,
  type Duration,
  type Job,
  type KnownJob,
} from '../../core/internal'
import { isPause, LOST, processOf, type LastRun } from '../owner'
import { foreignClock, isHeldForEver, wasAcquired, type LockRecord } from '../records'

// What people call a lock: a job that runs, is late, has failed. `table.overdue`, the command line, the page and the runbook use the same words.

/** The state of a job, as `JobView` describes it. */
export type JobState = 'stuck' | 'missed' | 'late' | 'died' | 'failed' | 'running' | 'paused' | 'idle'

/** What each state means, and what to do, those that need a person first. A test compares them with the table in docs/guides/operating.md. */
export const JOB_STATES = {
  stuck: {
    means: 'Its lock is held though no run needs it, or its times are wrong.',
    next: 'See that no run goes on, release it, and run it now if its work is not done. Is a time wrong? Run doctor.',
    never: 'Delete the row: the next run may overlap.',
  },
  missed: {
    means: 'It was due, its lock was free, and nobody ran it.',
    next: 'See why no scheduler started it, then run it now.',
    never: 'Wait: nobody repeats it.',
  },
  late: {
    means: 'It was acquired too long ago, or its run takes too long.',
    next: 'See what its run does, or why no scheduler starts it, then run it now.',
    never: 'Release it while its run goes on.',
  },
  died: {
    means: 'Its lock expired before its end was recorded.',
    next: 'If its process has ended and its work is not done, run it now.',
    never: 'Run it beside a process that still works.',
  },
  failed: {
    means: 'Its last run threw, or was longer than its lease may last.',
    next: 'Correct the error in its log. If its work is not done, run it now.',
    never: 'Repeat it before you know what it did.',
  },
  running: {
    means: 'A run holds its lock.',
    next: 'Wait: its lock ends by itself, unless its run extends it. Is its process gone? You may release it.',
    never: 'Release it while its process lives.',
  },
  paused: {
    means: 'Somebody stopped it; the owner says who, and why.',
    next: 'Ask who paused it, then resume it.',
    never: 'Resume it while the reason holds.',
  },
  idle: {
    means: 'Nothing is known to be wrong.',
    next: 'Nothing.',
    never: 'Take it for proof that it runs: give it a limit.',
  },
} as const satisfies Readonly<Record<JobState, object>>

/** The states that need a person. */
const TROUBLE: readonly JobState[] = ['stuck', 'missed', 'late', 'died', 'failed']

/** Returns whether a job in this state needs a person. */
export function isTrouble(state: JobState): boolean {
  return TROUBLE.includes(state)
}

/** A job as people see it. */
export interface JobView {
  /** The name of its lock. */
  readonly name: string
  /**
   * - `stuck` its lock is held though no run needs it, or its times are wrong
   * - `missed` it was due more than a minute ago, its lock was free, and nobody acquired it
   * - `late` it was last acquired longer ago than its limit, or never, or its run takes too long
   * - `died` the last lease ended without an outcome
   * - `failed` its last run failed, was longer than its lease may last, or must have succeeded and is not known to have
   * - `running`, `paused`, `idle`
   */
  readonly state: JobState
  /** Why it is in this state, for how long or until when; may be empty. */
  readonly why: string
  /** When the job is due next; `null` if it is not due again, absent if that is not known. */
  readonly nextDue?: Date | null
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
  readonly mustHaveSucceeded?: boolean | undefined
  /** In milliseconds. */
  readonly runningAtMost?: number | undefined
}

/**
 * @returns what is expected of each lock, in the order of `expected`
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseExpected(
  expected: Readonly<Record<string, Duration | Job>>,
): ReadonlyMap<string, Expected> {
  if (typeof expected !== 'object' || (expected as unknown) === null)
    throw optionError(
      'overdueAfter',
      "an object with a duration or a job for each lock, such as { report: '25h' }",
    )
  return new Map(
    Object.entries(expected).map(([name, each]) => [
      parseLockName(name),
      typeof each === 'object' && !isTemporal(each)
        ? { job: parseJob(each, name) }
        : { overdueAfter: aDuration(each, 'overdueAfter', name) },
    ]),
  )
}

/** Describes a job by its lock and what is expected of it. */
export function jobView(name: string, record: LockRecord | undefined, expected: Expected = {}): JobView {
  const { overdueAfter, job = {} } = expected
  const missed = missedAt(job, record)
  const due = job.due?.next(nowOf(record))
  const [state, why] = stateOf(record, expected, missed)
  return {
    ...{ name, state, why },
    ...(job.due && { nextDue: due === undefined ? null : new Date(due) }),
    ...(missed !== undefined && { missedAt: new Date(missed) }),
    ...(overdueAfter !== undefined && { overdueAfter }),
    ...(record && { record }),
  }
}

function nowOf(record: LockRecord | undefined): number {
  return record?.now.getTime() ?? time.wall()
}

/** `tenant-9` is before `tenant-10`. */
const byName = new Intl.Collator('en', { numeric: true })
const ORDER = Object.keys(JOB_STATES)

/** Sorts jobs: the latest trouble first, because what is older is known; then by state and name. */
export function troubleFirst(one: JobView, other: JobView): number {
  const byState = ORDER.indexOf(one.state) - ORDER.indexOf(other.state)
  return troubleSince(other) - troubleSince(one) || byState || byName.compare(one.name, other.name)
}

/** When its trouble began: 1970 if that is not known, before that if there is none. */
function troubleSince({ state, missedAt: missed, overdueAfter = 0, record }: JobView): number {
  if (!isTrouble(state)) return -1
  if (missed) return missed.getTime()
  if (!record || foreignClock(record) > 0) return 0
  const { lockedAt, lastRun } = record
  if (state === 'late') return lockedAt.getTime() + overdueAfter
  return (lastRun?.endedAt ?? lockedAt).getTime()
}

/** The first sentence about many jobs. A job is well only if it is known when it must run. */
export function summary(jobs: readonly Pick<JobView, 'state' | 'nextDue' | 'overdueAfter'>[]): string {
  const trouble = jobs.filter(({ state }) => isTrouble(state)).length
  const unlimited = jobs.filter(({ nextDue, overdueAfter }) => nextDue === undefined && !overdueAfter).length
  const [count, only] = [`${jobs.length} jobs`, jobs.length === 1]
  if (jobs.length === 0) return 'There are no jobs yet'
  if (trouble > 0)
    return only ? 'The only job needs you' : `${trouble} of ${count} need${trouble === 1 ? 's' : ''} you`
  if (unlimited > 0) return `Nothing is known to be wrong (without a limit: ${unlimited} of ${count})`
  return only ? 'The only job is well' : `All ${count} are well`
}

function stateOf(
  record: LockRecord | undefined,
  expected: Expected,
  missed: number | undefined,
): [JobState, string] {
  const { overdueAfter, mustHaveSucceeded = false } = expected
  const stuck = record && whyStuck(record)
  if (stuck !== undefined) return ['stuck', stuck]
  const now = nowOf(record)
  const ago = (at: number): string => `${formatDuration(Math.max(0, now - at))} ago`
  if (record?.paused) return ['paused', `${left(record)} left`]
  if (missed !== undefined) return ['missed', `due ${ago(missed)}, nobody ran it`]
  if (record?.held && !record.lastRun) return running(record, expected)
  const limit = overdueAfter === undefined ? '' : `, limit ${formatDuration(overdueAfter)}`
  if (!record || !wasAcquired(record)) return [limit === '' ? 'idle' : 'late', `never ran${limit}`]
  const { held, lockedAt, lockedBy, lastRun } = record
  const acquired = lockedAt.getTime()
  if (now - acquired > (overdueAfter ?? Infinity)) return ['late', `acquired ${ago(acquired)}${limit}`]
  const { outcome, endedAt, error } = lastRun ?? {}
  const ended = endedAt ? ago(endedAt.getTime()) : ''
  if (lastRun && error === LOST) return ['failed', outlived(lastRun)]
  if (outcome === 'died' || outcome === 'failed') return [outcome, ended]
  if (mustHaveSucceeded && outcome !== 'succeeded' && !isPause(lockedBy))
    return ['failed', 'not known to have succeeded']
  if (held) return ['idle', `its lock is kept for ${left(record)}`]
  return ['idle', outcome === undefined ? `acquired ${ago(acquired)}` : `${outcome} ${ended}`.trim()]
}

function running(
  record: LockRecord,
  { overdueAfter, runningAtMost, job = {} }: Expected,
): [JobState, string] {
  const { lockedAt, lockUntil, now } = record
  const age = Math.max(0, now.getTime() - lockedAt.getTime())
  const lasted = `for ${formatDuration(age)}`
  const lease = formatDuration(Math.max(0, lockUntil.getTime() - lockedAt.getTime()))
  for (const limit of [runningAtMost, overdueAfter])
    if (limit !== undefined && age > limit)
      return ['late', `running ${lasted}, limit ${formatDuration(limit)}`]
  if (isInTheWay(job, record)) return ['late', `running ${lasted} of ${lease}, several due times passed`]
  return ['running', `${lasted} of ${lease}`]
}

function outlived({ duration }: LastRun): string {
  return `${duration === undefined ? '' : `ran ${formatDuration(duration)}, `}longer than its lease may last`
}

/** No run has a longer lease: it is a mistake, in milliseconds. */
const LONGEST_RUN = 366 * 86_400_000

/** Returns why nobody can acquire the lock, although no run needs it; `undefined` if it is not stuck. */
export function whyStuck(record: LockRecord): string | undefined {
  const { held, paused, lockUntil, now } = record
  if (isHeldForEver(record) && !paused) return 'held for ever'
  const ahead = foreignClock(record)
  if (ahead > 0) return `acquired ${formatDuration(ahead)} ahead of the clock of the database`
  if (!held || paused) return undefined
  if (lockUntil.getTime() - now.getTime() > LONGEST_RUN) return `held until ${lockUntil.getUTCFullYear()}`
  return holder(record) === PROCESS.gone ? `its process is gone, ${left(record)} left` : undefined
}

const PROCESS = {
  gone: 'is gone from this host',
  running: 'runs on this host',
  unknown: 'cannot be seen from here',
} as const

/** What is known here of the process that holds the lock for a run; `undefined` without a run. */
export function holder({ held, paused, lockedBy, lastRun }: LockRecord): string | undefined {
  return held && !paused && !lastRun ? PROCESS[processOf(lockedBy)] : undefined
}

function left(record: LockRecord): string {
  return isHeldForEver(record)
    ? 'for ever'
    : formatDuration(record.lockUntil.getTime() - record.now.getTime())
}
