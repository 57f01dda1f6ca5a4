import { formatDuration } from '../core/internal'
import {
  displayedOwner,
  foreignClock,
  isPause,
  isHeldForEver,
  isTrouble,
  jobView,
  printable,
  readableOwner,
  troubleFirst,
  wasAcquired,
  type JobView,
  type LastRun,
  type LockRecord,
  type SqlLockProvider,
} from '../sql/internal'
import { refusal } from './command-error'
import { columns, labelled, type Cell } from './layout'
import { COMMAND } from './output'

/** @throws CommandError if the table has no such lock */
export async function existingLock(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = await provider.table.find(name)
  if (!lock)
    throw refusal(
      `There is no lock '${name}' in the table – check the name, and whether the job uses this table: ${COMMAND} list shows all of them.`,
    )
  return lock
}

const COLUMNS: Readonly<Record<string, (job: JobView) => Cell>> = {
  NAME: ({ name }) => printable(name),
  STATE: state,
  'LAST RUN': lastRun,
  OWNER: owner,
  TOOK: took,
  'LOCKED AT': lockedAt,
  'LOCK UNTIL': ({ record }) => (record ? lockUntil(record) : ''),
}
/** Those that a person reads. A program reads all. */
const ON_TERMINAL = 4
/** Names may be longer, but most are not. */
const WIDEST = 40

/** One line for each job, trouble first. */
export function table(jobs: readonly JobView[], width: number): string {
  const isTerminal = width < Infinity
  const shown = Object.entries(COLUMNS).slice(0, isTerminal ? ON_TERMINAL : undefined)
  const rows = [...jobs].sort(troubleFirst).map((job) => shown.map(([, cell]) => cell(job)))
  const header = shown.map(([title]): Cell => [title, 'bold'])
  return columns([header, ...rows], width, isTerminal ? WIDEST : Infinity)
}

export function details(lock: LockRecord): string {
  const job = jobView(lock.name, lock)
  const run = lastRun(job)
  const rows: readonly (readonly [Cell, Cell])[] = [
    ['name', printable(lock.name)],
    ['state', state(job)],
    ['last run', run === UNKNOWN ? `${run}, because ${whyUnknown(lock)}` : run],
    ['took', took(job)],
    ['owner', owner(job)],
    ['locked at', lockedAt(job)],
    ['lock until', lockUntil(lock)],
    ['now', lock.now.toISOString()],
    [['warning', 'red'], foreignClock(lock) > 0 ? `locked at is ahead of now: ${ANOTHER_CLOCK}` : ''],
  ]
  return labelled(rows.filter(([, value]) => value !== ''))
}

/** Explains a time in the future. */
export const ANOTHER_CLOCK = `another clock or time zone wrote it, or a clock was set back – run ${COMMAND} doctor`

/** The job as `--json` prints it. `lockedAt` is null for a job that was paused but never ran. */
export function forJson(lock: LockRecord): object {
  const { record: _, ...job } = jobView(lock.name, lock)
  return { ...job, ...lock, lockedAt: wasAcquired(lock) ? lock.lockedAt : null }
}

/** The beginning of a sentence: who holds the lock, and until when. */
export function holding(lock: LockRecord): string {
  const { name, held, paused, lockedBy, lastRun } = lock
  const which = `Lock '${printable(name)}'`
  const { duration } = lastRun ?? {}
  const run =
    lastRun &&
    `${ended(lastRun, lock.now)}${duration === undefined ? '' : `, took ${formatDuration(duration)}`}`
  if (!held) return `${which} is free${run ? `; its last run: ${run}` : ''}`
  const owner = printable(readableOwner(lockedBy))
  const until = isHeldForEver(lock) ? 'for ever' : `until ${lockUntil(lock)} (${left(lock)})`
  const how = run ? `is still held after its run by ${owner} (${run})` : `is held by ${owner}`
  return `${which} ${paused ? `is ${owner}` : how} ${until}`
}

const STATES = { running: 'cyan', paused: 'yellow', idle: 'gray' } as const

function state({ state, why }: JobView): Cell {
  return [
    why === '' ? state : `${state}${why.startsWith('for ') ? '' : ','} ${why}`,
    isTrouble(state) ? 'red' : STATES[state as keyof typeof STATES],
  ]
}

const UNKNOWN = 'unknown'
const STYLES = { succeeded: 'green', failed: 'red', died: 'red', unlocked: 'gray' } as const

/** How the last run ended, as far as the row knows. */
function lastRun({ record }: JobView): Cell {
  if (!record || !wasAcquired(record)) return 'never'
  const { lastRun, held, paused, now } = record
  if (lastRun) return [ended(lastRun, now), STYLES[lastRun.outcome]]
  return held && !paused ? '' : UNKNOWN
}

function whyUnknown({ lockedBy }: LockRecord): string {
  return isPause(lockedBy)
    ? 'the job was paused since'
    : 'another program wrote the row, such as a Java service'
}

function ended({ outcome, endedAt, error }: LastRun, now: Date): string {
  const ago = endedAt ? ` ${formatDuration(now.getTime() - endedAt.getTime())} ago` : ''
  return `${outcome}${ago}${error === undefined ? '' : `: ${printable(error)}`}`
}

function took({ record }: JobView): string {
  const time = record?.lastRun?.duration
  return time === undefined ? '' : formatDuration(time)
}

function owner({ record }: JobView): string {
  return record ? printable(displayedOwner(record)) : ''
}

function lockedAt({ record }: JobView): string {
  return record && wasAcquired(record) ? record.lockedAt.toISOString() : 'never'
}

function lockUntil(lock: LockRecord): string {
  return lock.lockUntil.toISOString()
}

function left({ lockUntil, now }: LockRecord): string {
  return `${formatDuration(lockUntil.getTime() - now.getTime())} left`
}
