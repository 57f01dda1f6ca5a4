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
import { columns, displayWidth, labelled, type Cell } from './layout'
import { nearest } from './nearest'
import { COMMAND } from './output'

/** @throws CommandError if the table has no such lock */
export async function existingLock(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = await provider.table.find(name)
  if (!lock)
    throw refusal(
      `There is no lock '${name}' in the table – ${await suggestion(provider, name, 'check the name, and whether the job uses this table:')} ${COMMAND} list shows all of them.`,
    )
  return lock
}

/** Suggests the lock whose name is the nearest to a misspelt one. @param otherwise the words if there is none */
export async function suggestion(
  provider: SqlLockProvider,
  name: string,
  otherwise: string,
): Promise<string> {
  const others = (await provider.table.list()).map((lock) => lock.name).filter((other) => other !== name)
  const near = nearest(name, others)
  return near === undefined ? otherwise : `did you mean '${printable(near)}'?`
}

const COLUMNS: Readonly<Record<string, { cell: (job: JobView) => Cell; atLeast: number }>> = {
  NAME: { cell: ({ name }) => printable(name), atLeast: 24 },
  STATE: { cell: state, atLeast: 8 },
  'LAST RUN': { cell: lastRun, atLeast: 13 },
  OWNER: { cell: owner, atLeast: 12 },
  TOOK: { cell: took, atLeast: 0 },
  'NEXT DUE': { cell: ({ nextDue }) => nextDue?.toISOString() ?? '', atLeast: 0 },
  'LOCKED AT': { cell: lockedAt, atLeast: 0 },
  'LOCK UNTIL': { cell: ({ record }) => (record ? lockUntil(record) : ''), atLeast: 0 },
}
const TITLES = Object.keys(COLUMNS)

/**
 * A sentence and one line for each job, trouble first. On a terminal only columns that leave room for the longest name are shown,
 * because the name is what one types next.
 */
export function table(jobs: readonly JobView[], width: number): string {
  const longest = Math.max(...jobs.map(({ name }) => displayWidth(printable(name))))
  const needed = (count: number): number =>
    TITLES.slice(1, count).reduce((sum, title) => sum + 2 + (COLUMNS[title]?.atLeast ?? 0), longest)
  const fitting = [4, 3].find((count) => needed(count) <= width) ?? 2
  const shown = TITLES.slice(0, width === Infinity ? undefined : fitting)
  const sorted = [...jobs].sort(troubleFirst)
  const rows = sorted.map((job) => shown.map((title) => COLUMNS[title]?.cell(job) ?? ''))
  const header = shown.map((title): Cell => [title, 'bold'])
  const elastic = shown.map((title, index) => [index, COLUMNS[title]?.atLeast ?? 0] as const).reverse()
  return columns([header, ...rows], elastic, width)
}

export function details(lock: LockRecord, job: JobView = jobView(lock.name, lock)): string {
  const run = lastRun(job)
  const rows: readonly (readonly [Cell, Cell])[] = [
    ['name', printable(lock.name)],
    ['state', state(job)],
    ['last run', run === UNKNOWN ? `${run}, because ${whyUnknown(lock)}` : run],
    ['took', took(job)],
    ['next due', job.nextDue?.toISOString() ?? ''],
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
export function forJson(lock: LockRecord, { record: _, ...job } = jobView(lock.name, lock)): object {
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
