import { isPause } from '../core/internal'
import {
  displayedOwner,
  foreignClock,
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

/** @throws CommandError when nobody ever acquired it */
export async function existingLock(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = await provider.findLock(name)
  if (!lock) throw refusal(`There is no lock '${name}', because it was never acquired.`)
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
/** How many of them a terminal shows without `--wide`. */
const NARROW = 4
/** What is cut first where there is no room, and the shortest that it may be: the name is worth more than its owner. */
const ELASTIC = [
  [3, 18],
  [0, 10],
] as const
const ALL_ELASTIC = Object.keys(COLUMNS).map((_, index) => [index, 4] as const)

/** A line for each lock, trouble first. Where the width is limited it has the columns that matter, unless `wide` asks for all. */
export function table(locks: readonly LockRecord[], width: number, wide = false): string {
  if (locks.length === 0) return 'There are no locks.'
  const titles = Object.keys(COLUMNS).slice(0, wide || width === Infinity ? undefined : NARROW)
  const sorted = [...locks].sort((one, other) => Number(isInTrouble(other)) - Number(isInTrouble(one)))
  const rows = sorted.map((lock) => titles.map((title) => COLUMNS[title]?.(lock) ?? ''))
  const header = titles.map((title): Cell => [title, 'bold'])
  return columns([header, ...rows], wide ? ALL_ELASTIC : ELASTIC, width)
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
    [['warning', 'red'], ahead > 0 ? `locked at is ${duration(ahead)} ahead of now: ${ANOTHER_CLOCK}` : ''],
  ]
  return labelled(rows.filter(([, value]) => value !== ''))
}

/** What a time in the future means. */
export const ANOTHER_CLOCK = `another clock or time zone wrote it – run ${COMMAND} doctor`

/** As `--json` prints it: a pause is no run. */
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

/** Its last run failed, or it will not run until somebody does something. */
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
  return `${duration(lockUntil.getTime() - now.getTime())} left`
}

const UNKNOWN = 'unknown'
const STYLES = { succeeded: 'green', failed: 'red', died: 'red', unlocked: 'gray' } as const

/** How the last run ended, as far as the row knows. */
function lastRun(lock: LockRecord): Cell {
  const { lockedBy, lockedAt, held, now } = lock
  if (lock.lastRun) return [ended(lock.lastRun, now), STYLES[lock.lastRun.outcome]]
  if (!wasAcquired(lock)) return 'never'
  if (isPause(lockedBy) || !held) return UNKNOWN
  return [`running for ${duration(Math.max(0, now.getTime() - lockedAt.getTime()))}`, 'cyan']
}

function whyUnknown({ lockedBy }: LockRecord): string {
  return isPause(lockedBy) ? 'the job was paused since' : 'another program ran it, such as a Java service'
}

function ended({ outcome, endedAt }: LastRun, now: Date): string {
  return endedAt ? `${outcome} ${duration(now.getTime() - endedAt.getTime())} ago` : outcome
}

function took({ lastRun }: LockRecord): string {
  const time = lastRun?.duration
  return time === undefined ? '' : time < 10_000 ? `${time / 1_000}s` : duration(time)
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

/** `1h 30m`, `45m`: below ten units also the next smaller one. */
export function duration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1_000)
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)]
  const parts = [
    [Math.floor(hours / 24), 'd'],
    [hours % 24, 'h'],
    [minutes % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  const precision = (parts[first]?.[0] ?? 0) < 10 ? 2 : 1
  const shown = parts.slice(first, first + precision).filter(([count]) => count > 0)
  return shown.map((part) => part.join('')).join(' ') || '0s'
}
