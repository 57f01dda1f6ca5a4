import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isMainThread, threadId } from 'node:worker_threads'
import { configurationError, errorName } from '../core/internal'

// What `locked_by` contains: who holds the lock, and after its release how its run ended.

/** How the last run under a lock ended, as recorded in its row. Times are those of the database's clock. */
export interface LastRun {
  /**
   * - `succeeded`, `failed` as the executor saw it, or as it was passed to `unlock({ outcome })`
   * - `unlocked` the lock was released without an outcome, by its holder, by hand, or before a run started
   * - `died` the lease ended without an outcome: the process is gone, or the run is still going on
   */
  readonly outcome: 'succeeded' | 'failed' | 'unlocked' | 'died'
  /** When the lock was acquired for the run, even if `lockedAt` is a slot. Absent if unknown. */
  readonly startedAt?: Date
  /** When the run ended; for `died`, when the lease did. Absent if unknown. */
  readonly endedAt?: Date
  /** How long the lock was held for the run, in milliseconds. Absent if unknown. */
  readonly duration?: number
  /**
   * Why the run failed: the error's code or the name of its class, with `recordMessages` also its message. `LOCK_LOST`, whatever the
   * outcome, if the run was longer than its lease may last. Absent if unknown.
   */
  readonly error?: string
}

/** The length of the column in ShedLock's own migrations. */
const LONGEST = 255
/** How much of it is left without the random part. */
const LONGEST_OWNER = LONGEST - '/00000000-0000-8000-0000-000000000000'.length
/** A UUID of version 8, which other programs do not create: an owner that ends in another UUID is not ours. */
const RANDOM_PART = /\/[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/
/**
 * What the task threw, and for how many milliseconds the lock was held until the run ended, and from then until `lock_until`. The digits are limited to
 * those of `LONGEST_RUN` and of a lease of a hundred years, because other programs may write numbers that no `Date` can hold. The
 * error comes first, where versions that do not know it take it for a part of the owner.
 */
const ENDING =
  /(?: threw (?<error>[ -~]+))?\/(?:(?<ranFor>\d{1,12})(?:\+(?<heldFor>\d{1,13}))? )?(?<outcome>succeeded|failed|unlocked)$/
/** With more digits, the ending would be longer than the random part. */
const LONGEST_RUN = 999_999_999_999

/** Names this process for people who read the table: host, process and worker thread. */
export function defaultLockedBy(): string {
  return `${hostname()}/${process.pid}${isMainThread ? '' : `/${threadId}`}`.slice(-LONGEST_OWNER)
}

const PAUSE = 'paused by '
const THREW = ' threw '

/** Returns whether this owner is a pause, during which no task runs. */
export function isPause(lockedBy: string): boolean {
  return lockedBy.startsWith(PAUSE)
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function parseLockedBy(lockedBy: string): string {
  // With a space, because an error may follow it.
  if (!isPause(`${parseOwner(lockedBy, 'lockedBy')} `)) return lockedBy
  throw configurationError(
    "lockedBy begins with 'paused by', which marks a pause – choose another beginning.",
  )
}

function parseOwner(owner: string, what: string, lockName?: string): string {
  const isRight = typeof owner === 'string' && owner.trim() !== '' && owner.length <= LONGEST_OWNER
  if (isRight && !/[\p{Cc}\p{Cs}]/u.test(owner)) return owner
  throw configurationError(
    `${what} must be a string of 1 to ${LONGEST_OWNER} characters without control characters.`,
    lockName,
  )
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function pauseOwner(lockName: string, pausedBy: string, reason: string): string {
  const what = "pausedBy and reason of a pause, together with 'paused by',"
  return parseOwner(`${PAUSE}${pausedBy}: ${reason}`, what, lockName)
}

/** In place of `MACHINE` outside of Linux, and for owners that do not begin with the default `lockedBy`. */
const UNKNOWN = '0000'
/**
 * Identifies this machine since its last start, and the PID namespace: machines and the containers of a pod may share a host name, but do
 * not see each other's processes.
 *
 * @see https://man7.org/linux/man-pages/man7/pid_namespaces.7.html
 */
const MACHINE = machine()

function machine(): string {
  try {
    // Some runtimes have no files.
    const fs = process.getBuiltinModule('node:fs')
    const bootId = Number.parseInt(fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'), 16)
    const namespace = Number(/\d+/.exec(fs.readlinkSync('/proc/self/ns/pid')))
    return ((bootId ^ namespace) & 0xffff).toString(16).padStart(UNKNOWN.length, '0')
  } catch {
    return UNKNOWN
  }
}

/** A number in another `lockedBy` may be that of an instance, not of a process. */
const DEFAULT_LOCKED_BY = defaultLockedBy()
/** Of this process. */
let acquisitions = 0

/**
 * Creates the owner of one acquisition. With host and process alone, a late holder could release or extend the lock of its
 * successor in the same process.
 */
export function newOwner(lockedBy: string): string {
  const random = randomUUID()
  acquisitions = (acquisitions + 1) % 16 ** 6
  // The number as well, because tests may replace `randomUUID` by a constant.
  const number = acquisitions.toString(16).padStart(6, '0')
  const where = lockedBy === DEFAULT_LOCKED_BY ? MACHINE : UNKNOWN
  return `${lockedBy}/${random.slice(0, 14)}8${random.slice(15, 19)}${where}${random.slice(23, 30)}${number}`
}

/** How a run ended, for the release of its lock. Durations are in milliseconds. */
export interface EndedRun {
  readonly outcome: 'succeeded' | 'failed' | 'unlocked'
  readonly ranFor: number
  /** How long to keep the lock from now on. */
  readonly keepFor: number
  /** How long the lock stays held after the end of the run. */
  readonly heldFor: number
  /** As of `LastRun`. */
  readonly error?: string | undefined
}

/**
 * Returns what `locked_by` contains after the release: how the run ended. As the owner changes, no earlier statement of the holder
 * finds the row. The result is never longer than `varchar(255)`, for which the error is cut; an owner without a random part, such as
 * that of a Java service, does not change.
 *
 * @param run `undefined`: there was none, or how it ended is unknown
 */
export function endedOwner(owner: string, run?: EndedRun): string {
  if (!run) return owner.replace(RANDOM_PART, '/unlocked')
  const ranFor = Math.min(Math.round(run.ranFor), LONGEST_RUN)
  const heldFor = Math.round(run.heldFor)
  const ending = `/${ranFor}${heldFor > 0 ? `+${heldFor}` : ''} ${run.outcome}`
  const who = owner.replace(RANDOM_PART, '')
  // Only ASCII, because a column with another character set would refuse the release.
  const error = (run.error ?? '')
    .replace(/[^ -~]+/g, '?')
    .slice(0, Math.max(0, LONGEST - who.length - ending.length - THREW.length))
  return `${who}${error.trim() && `${THREW}${error.trim()}`}${ending}`
}

/** The error of a run that was longer than its lease may last, and threw none. */
export const LOST = 'LOCK_LOST'

/** Longer messages are cut. */
const LONGEST_MESSAGE = 100

/**
 * Describes what a task threw, for the row.
 *
 * @param withMessage whether the app wants its message. A database's error has none here, because it may contain SQL and values
 */
export function describeFailure(error: unknown, withMessage: boolean): string {
  const name = errorName(error)
  const { message, query, sql, clientVersion } = (error ?? {}) as Record<string, unknown>
  if (!withMessage || typeof message !== 'string' || (query ?? sql ?? clientVersion) !== undefined)
    return name
  const [line = ''] = message.trim().split(/[\r\n]/)
  const safe = line
    .replace(/:\/\/[^\s@]*@/g, '://***@')
    .replace(/\b(\w*(?:password|pwd|token|secret|key))=\S+/gi, '$1=***')
  return `${name}: ${safe.slice(0, LONGEST_MESSAGE)}`
}

/** Returns the owner without its random part or its ending, for people to read. */
export function readableOwner(owner: string): string {
  return owner.replace(RANDOM_PART.test(owner) ? RANDOM_PART : ENDING, '')
}

/**
 * Reads from the owner how the last run ended.
 *
 * @param lockUntil as the row has it
 * @param now by the same clock
 */
export function lastRunOf(owner: string, held: boolean, lockUntil: Date, now: Date): LastRun | undefined {
  if (isPause(owner)) return undefined
  if (RANDOM_PART.test(owner)) return held ? undefined : { outcome: 'died', endedAt: lockUntil }
  const { ranFor, heldFor = 0, outcome, error } = ENDING.exec(owner)?.groups ?? {}
  if (outcome === undefined) return undefined
  const ended = lockUntil.getTime() - Number(heldFor)
  const duration = ranFor === undefined ? undefined : Number(ranFor)
  return {
    outcome: outcome as LastRun['outcome'],
    // Otherwise the row was changed by hand or the clock was set back, so the times are unknown.
    ...(ended <= now.getTime() && {
      ...(duration !== undefined && { startedAt: new Date(ended - duration) }),
      endedAt: new Date(ended),
    }),
    ...(duration !== undefined && { duration }),
    ...(error !== undefined && { error }),
  }
}

/**
 * Returns whether the owner's process runs. Unknown on other machines, in other PID namespaces, after a restart of the machine, and unless the
 * owner begins with the default `lockedBy`.
 */
export function processOf(owner: string): 'gone' | 'running' | 'unknown' {
  const [, host, pid] = /^(.*?)\/(\d+)(?:\/\d+)?$/.exec(readableOwner(owner)) ?? []
  const where = owner.slice(-17, -13)
  if (host !== hostname() || where !== MACHINE || where === UNKNOWN) return 'unknown'
  try {
    // Sends nothing: it only finds out whether the process exists.
    process.kill(Number(pid), 0)
    return 'running'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? 'gone' : 'running'
  }
}
