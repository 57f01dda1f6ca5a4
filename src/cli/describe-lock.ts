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
import { COMMAND, columns } from './output'

/** @throws CommandError when nobody ever acquired it */
export async function existingLock(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = await provider.findLock(name)
  if (!lock) throw refusal(`There is no lock '${name}', because it was never acquired.`)
  return lock
}

export function table(locks: readonly LockRecord[]): string {
  if (locks.length === 0) return 'There are no locks.'
  const rows = locks.map((lock) => [
    printable(lock.name),
    state(lock),
    lock.lastRun ? ended(lock.lastRun, lock.now) : '',
    printable(displayedOwner(lock)),
    lockedAt(lock),
    lock.lockUntil.toISOString(),
  ])
  return columns([['NAME', 'STATE', 'LAST RUN', 'LOCKED BY', 'LOCKED AT', 'LOCK UNTIL'], ...rows])
}

export function details(lock: LockRecord): string {
  const ahead = foreignClock(lock)
  return columns([
    ['name', printable(lock.name)],
    ['state', state(lock)],
    ['last run', endOfLastRun(lock)],
    ['locked by', printable(lock.lockedBy)],
    ['locked at', lockedAt(lock)],
    ['lock until', lock.lockUntil.toISOString()],
    ['now', lock.now.toISOString()],
    ...(ahead > 0 ? [['warning', `locked at is ${duration(ahead)} ahead of now: ${ANOTHER_CLOCK}`]] : []),
  ])
}

/** What a time in the future means. */
export const ANOTHER_CLOCK = `another clock or time zone wrote it – run ${COMMAND} doctor`

/** As `--json` prints it: a pause is no run. */
export function forJson(lock: LockRecord): object {
  return { ...lock, lockedAt: wasAcquired(lock) ? lock.lockedAt : null }
}

/** The beginning of a sentence: who holds the lock, and until when. */
export function holding(lock: LockRecord): string {
  const { name, held, paused, lockedBy, lockUntil, now, lastRun } = lock
  const which = `Lock '${printable(name)}'`
  if (!held) return `${which} is free${lastRun ? `; its last run: ${ended(lastRun, now)}` : ''}`
  const owner = printable(readableOwner(lockedBy))
  const left = duration(lockUntil.getTime() - now.getTime())
  const until = isHeldForEver(lock) ? 'for ever' : `until ${lockUntil.toISOString()} (${left} left)`
  const run = lastRun
    ? `is still held after its run by ${owner} (${ended(lastRun, now)})`
    : `is held by ${owner}`
  const how = paused ? `is ${owner}` : run
  return `${which} ${how} ${until}`
}

function state(lock: LockRecord): string {
  if (!lock.held) return 'free'
  const how = lock.paused ? 'paused' : 'held'
  if (isHeldForEver(lock)) return `${how} for ever`
  return `${how}, ${duration(lock.lockUntil.getTime() - lock.now.getTime())} left`
}

/** How the last run ended, as far as the row knows. */
function endOfLastRun(lock: LockRecord): string {
  if (lock.lastRun) return ended(lock.lastRun, lock.now)
  if (!wasAcquired(lock)) return 'never'
  if (isPause(lock.lockedBy)) return 'unknown, because the job was paused since'
  return lock.held ? 'still running' : 'unknown, because another program ran it, such as a Java service'
}

function ended({ outcome, endedAt, duration: took }: LastRun, now: Date): string {
  const ago = endedAt ? `${outcome} ${duration(now.getTime() - endedAt.getTime())} ago` : outcome
  if (took === undefined) return ago
  return `${ago}, took ${took < 10_000 ? `${took / 1_000}s` : duration(took)}`
}

function lockedAt(lock: LockRecord): string {
  return wasAcquired(lock) ? lock.lockedAt.toISOString() : 'never'
}

export function duration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return `${hours > 0 ? `${hours}h ` : ''}${hours + minutes > 0 ? `${minutes}m ` : ''}${seconds % 60}s`
}
