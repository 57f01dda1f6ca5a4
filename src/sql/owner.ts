import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isMainThread, threadId } from 'node:worker_threads'
import { invalid, isPause } from '../core'

// What stands in `locked_by`: who holds the lock, and at the end how its run ended.

/** How the last run under a lock ended, as far as its row knows. Times are the database's. */
export interface LastRun {
  /**
   * - `succeeded`, `failed` as the executor saw it, or whoever called `unlock({ outcome })`
   * - `unlocked` by hand without a word, or before a run began
   * - `died` the lease ended before anything was told: its process is gone, or the run still goes on
   */
  readonly outcome: 'succeeded' | 'failed' | 'unlocked' | 'died'
  /** Absent for `died`. With a slot `lockedAt` is when the run was due. */
  readonly startedAt?: Date
  /** For `died`: the end of the lease. */
  readonly endedAt?: Date
  /** How long the lock was held for the run, in milliseconds. */
  readonly duration?: number
}

/** What is left of `varchar(255)` beside the random part. */
const LONGEST_OWNER = 255 - '/00000000-0000-8000-0000-000000000000'.length
/** Of version 8, which others do not make: an owner that another program ends in a UUID is none of ours. */
const RANDOM_PART = /\/[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/
/** In milliseconds: for how long the lock was held until the end of the run, and then until `lock_until`. */
const ENDING = /\/(?:(?<ranFor>\d+)(?:\+(?<heldFor>\d+))? )?(?<outcome>succeeded|failed|unlocked)$/
/** More digits would make the ending longer than the random part. */
const LONGEST_RUN = 999_999_999_999

/** This process, for people who read the table. */
export function defaultLockedBy(): string {
  return `${hostname()}/${process.pid}${isMainThread ? '' : `/${threadId}`}`.slice(-LONGEST_OWNER)
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkLockedBy(lockedBy: string): string {
  if (!isPause(checkOwner(lockedBy, 'lockedBy'))) return lockedBy
  throw invalid("lockedBy begins with 'paused by' – a pause does.")
}

export function checkOwner(owner: string, what: string): string {
  const isRight = typeof owner === 'string' && owner.trim() !== '' && owner.length <= LONGEST_OWNER
  if (isRight && !/[\p{Cc}\p{Cs}]/u.test(owner)) return owner
  throw invalid(`${what} must be a text of 1 to ${LONGEST_OWNER} characters without control characters.`)
}

/**
 * A fresh owner for one acquisition. Host and process alone would let a late holder release or extend the lock of its
 * successor in the same process.
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
 * What stands in `locked_by` after the unlock: how the run ended, and nothing that its holder sent before finds the row. Never
 * longer than the owner; an owner without a random part, such as a Java service, is left as it is.
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
 * A text of the database on its way to people. Other programs write into the table as well: what they wrote must neither steer a
 * terminal, nor begin a line, nor turn the order of what stands beside it. As JSON has it, so that JSON stays the same value.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
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
