import { LockError, warn } from '../core/internal'
import {
  describePlace,
  foreignClock,
  overdueLock,
  type LockRecord,
  type SqlLockProvider,
} from '../sql/internal'

/** What matters most about a lock. The page shows the locks in this order, trouble first. */
export const LOCK_STATES = ['overdue', 'died', 'failed', 'ahead', 'held', 'paused', 'free'] as const
/** States that need attention. */
export const TROUBLE: readonly LockState[] = ['overdue', 'died', 'failed', 'ahead']
type LockState = (typeof LOCK_STATES)[number]

/** A lock as the page shows it. */
export interface PageLock {
  /** The name of its provider; empty if there is only one. */
  readonly provider: string
  readonly name: string
  readonly state: LockState
  /** How long ago it may have been acquired last, in milliseconds. */
  readonly overdueAfter?: number | undefined
  /** Absent for an expected lock that was never acquired. */
  readonly record?: LockRecord
}

/** Why the locks of a provider cannot be shown. */
interface Failure {
  readonly provider: string
  readonly code: string
  readonly message: string
}

export interface Overview {
  /** Where the locks were read. */
  readonly places: readonly string[]
  readonly locks: readonly PageLock[]
  readonly failures: readonly Failure[]
}

/** Reads every lock of every provider, trouble first. Never rejects. */
export async function readLocks(
  providers: ReadonlyMap<string, SqlLockProvider>,
  overdueAfter: ReadonlyMap<string, number>,
): Promise<Overview> {
  const failures: Failure[] = []
  const read = [...providers].map(async ([name, provider]) => {
    try {
      const records = await provider.table.list()
      const locks = records.map((record) => pageLock(name, record, overdueAfter.get(record.name)))
      return { place: await placeOfProvider(name, provider), locks }
    } catch (error) {
      failures.push({ provider: name, ...failureOf(error) })
      return { place: named(name, provider.description), locks: [] }
    }
  })
  const all = await Promise.all(read)
  const places = all.map(({ place }) => place)
  const locks = all.flatMap((each) => each.locks)
  const names = new Set(locks.map(({ name }) => name))
  const [provider = ''] = providers.keys()
  // If a table could not be read, a lock may be in it, so report no lock as missing.
  for (const [name, after] of failures.length === 0 ? overdueAfter : [])
    if (!names.has(name)) locks.push({ provider, name, state: 'overdue', overdueAfter: after })
  return { places, locks: locks.sort(troubleFirst), failures }
}

/** Which table a provider uses. Never rejects. */
export async function placeOfProvider(name: string, provider: SqlLockProvider): Promise<string> {
  const place = await provider.table.place().then(describePlace, () => provider.description)
  return named(name, place)
}

function named(name: string, place: string): string {
  return name === '' ? place : `${name}: ${place}`
}

function pageLock(provider: string, record: LockRecord, overdueAfter: number | undefined): PageLock {
  const { name, held, paused, lastRun } = record
  const isOverdue = overdueAfter !== undefined && overdueLock(name, overdueAfter, record) !== undefined
  const { outcome } = lastRun ?? {}
  // A job with slots does not run before a `lockedAt` in the future, so such a lock is not free.
  const ofFree = foreignClock(record) > 0 ? 'ahead' : 'free'
  // A lock may stay held after its run, so its outcome comes first.
  const ended = outcome === 'died' || outcome === 'failed' ? outcome : held ? 'held' : ofFree
  const state = isOverdue ? 'overdue' : paused ? 'paused' : ended
  return { provider, name, state, overdueAfter, record }
}

function troubleFirst(one: PageLock, other: PageLock): number {
  const byState = LOCK_STATES.indexOf(one.state) - LOCK_STATES.indexOf(other.state)
  return byState || (one.name < other.name ? -1 : Number(one.name > other.name))
}

const ADVICE: Readonly<Record<string, string>> = {
  TIMEOUT:
    'The database did not answer in time. Check whether it is reachable, the connection pool is exhausted, or the table is locked.',
  DATABASE_ERROR:
    "The database is not reachable, or it answered with an error. The app's log has that error; npx shedlock-orm doctor finds what is wrong with the table.",
}

/** Describes an error to visitors. The database's own message may contain secrets, so it only goes to the app's log. */
export function failureOf(error: unknown): { code: string; message: string } {
  const { code, message } = error instanceof LockError ? error : { code: 'DATABASE_ERROR', message: '' }
  const advice = ADVICE[code]
  if (advice !== undefined) warn(error)
  return { code, message: advice ?? message }
}
