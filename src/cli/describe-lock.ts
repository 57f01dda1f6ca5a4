import { readableOwner, wasTaken, type LockRecord } from '../sql'
import { columns } from './output'

export function table(locks: readonly LockRecord[]): string {
  if (locks.length === 0) return 'There are no locks.'
  const rows = locks.map((lock) => [
    printable(lock.name),
    state(lock),
    printable(lock.lockedBy),
    lockedAt(lock),
    lock.lockUntil.toISOString(),
  ])
  return columns([['NAME', 'STATE', 'LOCKED BY', 'LOCKED AT', 'LOCK UNTIL'], ...rows])
}

export function details(lock: LockRecord): string {
  return columns([
    ['name', printable(lock.name)],
    ['state', state(lock)],
    ['locked by', printable(lock.lockedBy)],
    ['locked at', lockedAt(lock)],
    ['lock until', lock.lockUntil.toISOString()],
    ['now', lock.now.toISOString()],
  ])
}

/** The beginning of a sentence: who holds the lock, and until when. */
export function holding({ name, held, paused, lockedBy, lockUntil, now }: LockRecord): string {
  const lock = `Lock '${printable(name)}'`
  if (!held) return `${lock} is free`
  const owner = printable(readableOwner(lockedBy))
  const left = duration(lockUntil.getTime() - now.getTime())
  const ended = lockedBy.endsWith('/unlocked')
  const how = paused ? `is ${owner}` : ended ? `stays held after its run by ${owner}` : `is held by ${owner}`
  return `${lock} ${how} until ${lockUntil.toISOString()} (${left} left)`
}

function state({ held, paused, lockUntil, now }: LockRecord): string {
  if (!held) return 'free'
  return `${paused ? 'paused' : 'held'}, ${duration(lockUntil.getTime() - now.getTime())} left`
}

function lockedAt(lock: LockRecord): string {
  return wasTaken(lock) ? lock.lockedAt.toISOString() : 'never'
}

export function duration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return `${hours > 0 ? `${hours}h ` : ''}${hours + minutes > 0 ? `${minutes}m ` : ''}${seconds % 60}s`
}

/** Other programs write into the table as well: what they wrote must not steer the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}')
}
