import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isMainThread, threadId } from 'node:worker_threads'
import {
  aDuration,
  aString,
  checkOptions,
  checkWait,
  invalid,
  isPause,
  type Duration,
  type OptionChecks,
  type WaitOptions,
} from '../core/internal'

// What `locked_by` contains: who holds the lock, and at the end how its run ended.

/** How the last run under a lock ended, as far as its row tells. Times are of the database's clock. */
export interface LastRun {
  /**
   * - `succeeded`, `failed` as the executor saw it, or as whoever called `unlock({ outcome })` said
   * - `unlocked` the lock was released without an outcome, by its holder, by hand, or before a run began
   * - `died` the lease ended without an outcome: the process is gone, or the run still goes on
   */
  readonly outcome: 'succeeded' | 'failed' | 'unlocked' | 'died'
  /** When the lock was acquired for the run; `lockedAt`, in contrast, is the slot, if there was one. Absent where nobody knows it. */
  readonly startedAt?: Date
  /** When the run ended; for `died`, when the lease did. Absent where nobody knows it. */
  readonly endedAt?: Date
  /** How long the lock was held for the run, in milliseconds. Absent where nobody knows it. */
  readonly duration?: number
}

/** What is left of `varchar(255)` beside the random part. */
const LONGEST_OWNER = 255 - '/00000000-0000-8000-0000-000000000000'.length
/** Of version 8, which others do not make: an owner that another program ends in a UUID is none of ours. */
const RANDOM_PART = /\/[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/
/**
 * In milliseconds: for how long the lock was held until the end of the run, and then until `lock_until`. It has no more digits than
 * `LONGEST_RUN` and a lease of a hundred years: with others, which another program wrote, no `Date` could be made.
 */
const ENDING = /\/(?:(?<ranFor>\d{1,12})(?:\+(?<heldFor>\d{1,13}))? )?(?<outcome>succeeded|failed|unlocked)$/
/** More digits would make the ending longer than the random part. */
const LONGEST_RUN = 999_999_999_999

/** This process, for people who read the table. */
export function defaultLockedBy(): string {
  return `${hostname()}/${process.pid}${isMainThread ? '' : `/${threadId}`}`.slice(-LONGEST_OWNER)
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkLockedBy(lockedBy: string): string {
  if (!isPause(checkOwner(lockedBy, 'lockedBy'))) return lockedBy
  throw invalid("lockedBy begins with 'paused by', which marks a pause – let it begin otherwise.")
}

function checkOwner(owner: string, what: string, lockName?: string): string {
  const isRight = typeof owner === 'string' && owner.trim() !== '' && owner.length <= LONGEST_OWNER
  if (isRight && !/[\p{Cc}\p{Cs}]/u.test(owner)) return owner
  throw invalid(
    `${what} must be a text of 1 to ${LONGEST_OWNER} characters without control characters.`,
    lockName,
  )
}

/** How to pause a lock. */
export interface PauseOptions {
  /** How long the pause lasts, unless `resumeLock` ends it sooner. */
  readonly duration: Duration
  /** Why the job does not run, for others. It is written into `locked_by`. */
  readonly reason: string
  /** Who pauses the lock; written into `locked_by` too. Default: the provider's `lockedBy`, which is host and process unless you set it. */
  readonly pausedBy?: string | undefined
  /** How long to wait for a run in progress to end. Default 0: not at all. */
  readonly wait?: Duration | WaitOptions | undefined
}

const PAUSE_OPTIONS = {
  duration: aDuration,
  reason: aString,
  pausedBy: aString,
  wait: checkWait,
} satisfies OptionChecks<PauseOptions>

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkPause(name: string, options: PauseOptions, defaultPausedBy: string) {
  const {
    duration = 0,
    reason = '',
    pausedBy = defaultPausedBy,
    wait,
  } = checkOptions(options, PAUSE_OPTIONS, 'pause options', name)
  if (duration === 0 || reason.trim() === '')
    throw invalid(
      `The pause of lock '${name}' has no end or no reason – set 'duration' to how long it lasts, and 'reason' to a string.`,
      name,
    )
  const what = "pausedBy and reason of a pause, together with 'paused by',"
  return { duration, wait, lockedBy: checkOwner(`paused by ${pausedBy}: ${reason}`, what, name) }
}

/**
 * A new owner for one acquisition. Host and process alone would let a late holder release or extend the lock of its successor in
 * the same process.
 */
export function newOwner(lockedBy: string): string {
  const random = randomUUID()
  return `${lockedBy}/${random.slice(0, 14)}8${random.slice(15)}`
}

/** How a run ended, when its lock is released. In milliseconds. */
export interface EndedRun {
  readonly outcome: 'succeeded' | 'failed' | 'unlocked'
  readonly ranFor: number
  /** How long to keep the lock from now on. */
  readonly keepFor: number
  /** How long it will have been held since the end of the run. */
  readonly heldFor: number
}

/**
 * What `locked_by` contains after the release: how the run ended. So no earlier statement of the holder finds the row. Never longer
 * than the owner; an owner without a random part, such as that of a Java service, does not change.
 *
 * @param run `undefined`: there was none, or nobody knows
 */
export function endedOwner(owner: string, run?: EndedRun): string {
  if (!run) return owner.replace(RANDOM_PART, '/unlocked')
  const ranFor = Math.min(Math.round(run.ranFor), LONGEST_RUN)
  const heldFor = Math.round(run.heldFor)
  return owner.replace(RANDOM_PART, `/${ranFor}${heldFor > 0 ? `+${heldFor}` : ''} ${run.outcome}`)
}

/** The owner without its random part or its ending: what people want to read. */
export function readableOwner(owner: string): string {
  return owner.replace(RANDOM_PART.test(owner) ? RANDOM_PART : ENDING, '')
}

/**
 * A text of the database, made safe to show. Other programs write into the table as well: what they wrote must neither control a
 * terminal, nor begin a new line, nor reverse the text beside it, nor be invisible. The escapes are those of JSON, so that JSON keeps
 * the same value.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Whether a lock provider of this package wrote it. */
export function isOurs(owner: string): boolean {
  return RANDOM_PART.test(owner) || ENDING.test(owner)
}

/**
 * How the last run ended, as the owner tells it.
 *
 * @param lockUntil as the row has it
 * @param now by the same clock
 */
export function lastRunOf(owner: string, held: boolean, lockUntil: Date, now: Date): LastRun | undefined {
  if (isPause(owner)) return undefined
  if (RANDOM_PART.test(owner)) return held ? undefined : { outcome: 'died', endedAt: lockUntil }
  const { ranFor, heldFor = 0, outcome } = ENDING.exec(owner)?.groups ?? {}
  if (outcome === undefined) return undefined
  const ended = lockUntil.getTime() - Number(heldFor)
  const duration = ranFor === undefined ? undefined : Number(ranFor)
  return {
    outcome: outcome as LastRun['outcome'],
    // Somebody has changed the row, or set the clock back.
    ...(ended <= now.getTime() && {
      ...(duration !== undefined && { startedAt: new Date(ended - duration) }),
      endedAt: new Date(ended),
    }),
    ...(duration !== undefined && { duration }),
  }
}
