import { formatDuration } from '../core/internal'
import {
  displayedOwner,
  foreignClock,
  isPause,
  isHeldForEver,
  printable,
  readableOwner,
  wasAcquired,
  type LastRun,
  type LockRecord,
  type SqlLockProvider,
} from '../sql/internal'
import { refusal } from './command-error'
import { columns, labelled, type Cell } from './layout'
import { COMMAND } from './output'

/** @throws CommandError if the lock was never acquired */
export async function existingLock(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = await provider.table.find(name)
  if (!lock)
    throw refusal(`Lock '${name}' was never acquired – check the name: ${COMMAND} list shows all of them.`)
  return lock
}

const COLUMNS: Readonly<Record<string, (lock: LockRecord) => Cell>> = {
  NAME: ({ name }) => printable(name),
  STATE: state,
  'LAST RUN': lastRun,
  OWNER: owner,
  TOOK: took,
  'LOCKED AT': lockedAt,
  'LOCK UNTIL': lockUntil,
}
/** The width from which a terminal shows the owner, however long the other columns are. */
const WITH_OWNER = 75
/** The columns to cut, with their minimum widths. The owner is cut before the name, which matters more. */
const ELASTIC = [
  [3, 18],
  [0, 4],
] as const

/** One line for each lock, trouble first. If the width is limited, only the columns that matter are shown. */
export function table(locks: readonly LockRecord[], width: number): string {
  if (locks.length === 0) return 'There are no locks.'
  const shown = width === Infinity ? undefined : width < WITH_OWNER ? 3 : 4
  const titles = Object.keys(COLUMNS).slice(0, shown)
  const sorted = [...locks].sort((one, other) => Number(isInTrouble(other)) - Number(isInTrouble(one)))
  const rows = sorted.map((lock) => titles.map((title) => COLUMNS[title]?.(lock) ?? ''))
  const header = titles.map((title): Cell => [title, 'bold'])
  return columns([header, ...rows], ELASTIC, width)
}

export function details(lock: LockRecord): string {
  const run = lastRun(lock)
  const ahead = foreignClock(lock)
  const rows: readonly (readonly [Cell, Cell])[] = [
    ['name', printable(lock.name)],
    ['state', state(lock)],
    ['last run', run === UNKNOWN ? `${run}, because ${whyUnknown(lock)}` : run],
    ['took', took(lock)],
    ['owner', owner(lock)],
    ['locked at', lockedAt(lock)],
    ['lock until', lockUntil(lock)],
    ['now', lock.now.toISOString()],
    [
      ['warning', 'red'],
      ahead > 0 ? `locked at is ${formatDuration(ahead)} ahead of now: ${ANOTHER_CLOCK}` : '',
    ],
  ]
  return labelled(rows.filter(([, value]) => value !== ''))
}

/** Explains a time in the future. */
export const ANOTHER_CLOCK = `another clock or time zone wrote it – run ${COMMAND} doctor`

/** The lock as `--json` prints it. `lockedAt` is null for a job that was paused but never ran. */
export function forJson(lock: LockRecord): object {
  return { ...lock, lockedAt: wasAcquired(lock) ? lock.lockedAt : null }
}

/** The beginning of a sentence: who holds the lock, and until when. */
export function holding(lock: LockRecord): string {
  const { name, held, paused, lockedBy, lastRun } = lock
  const which = `Lock '${printable(name)}'`
  const run =
    lastRun && `${ended(lastRun, lock.now)}${lastRun.duration === undefined ? '' : `, took ${took(lock)}`}`
  if (!held) return `${which} is free${run ? `; its last run: ${run}` : ''}`
  const owner = printable(readableOwner(lockedBy))
  const until = isHeldForEver(lock) ? 'for ever' : `until ${lockUntil(lock)} (${left(lock)})`
  const how = run ? `is still held after its run by ${owner} (${run})` : `is held by ${owner}`
  return `${which} ${paused ? `is ${owner}` : how} ${until}`
}

/** Whether its last run failed or died, or it is held for ever and so needs a person to release it. */
function isInTrouble(lock: LockRecord): boolean {
  const { outcome } = lock.lastRun ?? {}
  return outcome === 'died' || outcome === 'failed' || (isHeldForEver(lock) && !lock.paused)
}

function state(lock: LockRecord): Cell {
  if (!lock.held) return ['free', 'gray']
  const how = lock.paused ? 'paused' : 'held'
  if (isHeldForEver(lock)) return [`${how} for ever`, lock.paused ? 'yellow' : 'red']
  return [`${how}, ${left(lock)}`, lock.paused ? 'yellow' : 'cyan']
}

function left({ lockUntil, now }: LockRecord): string {
  return `${formatDuration(lockUntil.getTime() - now.getTime())} left`
}

const UNKNOWN = 'unknown'
const STYLES = { succeeded: 'green', failed: 'red', died: 'red', unlocked: 'gray' } as const

/** How the last run ended, as far as the row knows. */
function lastRun(lock: LockRecord): Cell {
  const { lockedBy, lockedAt, held, now } = lock
  if (lock.lastRun) return [ended(lock.lastRun, now), STYLES[lock.lastRun.outcome]]
  if (!wasAcquired(lock)) return 'never'
  if (isPause(lockedBy) || !held) return UNKNOWN
  return [`running for ${formatDuration(Math.max(0, now.getTime() - lockedAt.getTime()))}`, 'cyan']
}

function whyUnknown({ lockedBy }: LockRecord): string {
  return isPause(lockedBy) ? 'the job was paused since' : 'another program ran it, such as a Java service'
}

function ended({ outcome, endedAt }: LastRun, now: Date): string {
  return endedAt ? `${outcome} ${formatDuration(now.getTime() - endedAt.getTime())} ago` : outcome
}

function took({ lastRun }: LockRecord): string {
  const time = lastRun?.duration
  return time === undefined ? '' : formatDuration(time)
}

function owner(lock: LockRecord): string {
  return printable(displayedOwner(lock))
}

function lockedAt(lock: LockRecord): string {
  return wasAcquired(lock) ? lock.lockedAt.toISOString() : 'never'
}

function lockUntil(lock: LockRecord): string {
  return lock.lockUntil.toISOString()
}
