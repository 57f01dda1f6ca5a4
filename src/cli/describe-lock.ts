import { formatDuration } from '../core/internal'
import {
  displayedOwner,
  foreignClock,
  isHeldForEver,
  isTrouble,
  JOB_STATES,
  jobView,
  printable,
  readableOwner,
  troubleFirst,
  wasAcquired,
  type JobView,
  type LockRecord,
  type SqlLockProvider,
} from '../sql/internal'
import { refusal } from './command-error'
import { labelled, type Cell } from './layout'
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

const STYLES = { running: 'cyan', paused: 'yellow', idle: 'gray' } as const

/** One line for each job, trouble first. */
export function lines(jobs: readonly JobView[]): string {
  const sorted = [...jobs].sort(troubleFirst)
  return labelled(sorted.map((job) => [printable(job.name), [sentence(job), styleOf(job)]]))
}

/** The lines, what to do next in each state that needs a person, and a last line. */
export function withAdvice(jobs: readonly JobView[], last = ''): string {
  const states = new Set([...jobs].sort(troubleFirst).map(({ state }) => state))
  const advice = labelled([...states].filter(isTrouble).map((state) => [state, JOB_STATES[state].next]))
  return [lines(jobs), advice, last].filter(Boolean).join('\n\n')
}

/** The state of a job, why, and by whom. */
export function sentence(job: JobView): string {
  const [reason, who] = [why(job), owner(job)]
  return `${job.state}${reason && `${reason.startsWith('for ') ? ' ' : ', '}${reason}`}${who && ` (${who})`}`
}

export function details(lock: LockRecord): string {
  const job = jobView(lock.name, lock)
  const { next, never } = JOB_STATES[job.state]
  const { duration } = lock.lastRun ?? {}
  const rows: readonly (readonly [Cell, Cell])[] = [
    ['name', printable(lock.name)],
    ['state', [`${job.state}${why(job) && `, ${why(job)}`}`, styleOf(job)]],
    ['next', next],
    ['never', never],
    ['took', duration === undefined ? '' : formatDuration(duration)],
    ['owner', owner(job)],
    ['locked at', wasAcquired(lock) ? at(lock.lockedAt, lock.now) : 'never'],
    ['lock until', at(lock.lockUntil, lock.now)],
    [
      ['warning', 'red'],
      foreignClock(lock) > 0
        ? `another clock or time zone wrote locked at, or a clock was set back – run ${COMMAND} doctor`
        : '',
    ],
  ]
  return labelled(rows.filter(([, value]) => value !== ''))
}

/** The job as `--json` prints it. `lockedAt` is null for a job that was never acquired. */
export function forJson({ record, ...job }: JobView): object {
  return { ...job, ...record, lockedAt: record && wasAcquired(record) ? record.lockedAt : null }
}

/** The beginning of a sentence: who holds the lock, and until when. */
export function holding(lock: LockRecord): string {
  const { name, held, paused, lockedBy, lastRun } = lock
  const which = `Lock '${printable(name)}'`
  if (!held) return `${which} is free${lastRun ? `; its last run: ${lastRun.outcome}` : ''}`
  const owner = printable(readableOwner(lockedBy))
  const how = lastRun ? `is still held after its run by ${owner} (${lastRun.outcome})` : `is held by ${owner}`
  const until = isHeldForEver(lock) ? 'for ever' : `until ${at(lock.lockUntil, lock.now)}`
  return `${which} ${paused ? `is ${owner}` : how} ${until}`
}

function styleOf({ state }: JobView): (typeof STYLES)[keyof typeof STYLES] | 'red' {
  return isTrouble(state) ? 'red' : STYLES[state as keyof typeof STYLES]
}

function why({ state, why: reason, record }: JobView): string {
  const error = record?.lastRun?.error
  return error === undefined
    ? reason
    : `${reason}${state === 'failed' ? ':' : ', last error'} ${printable(error)}`
}

function owner({ record }: JobView): string {
  return record ? printable(displayedOwner(record)) : ''
}

/** A time for people. */
function at(date: Date, now: Date): string {
  const ahead = date.getTime() - now.getTime()
  const text = date.toISOString().slice(0, 19).replace('T', ' ')
  return `${text} UTC (${ahead > 0 ? `in ${formatDuration(ahead)}` : `${formatDuration(-ahead)} ago`})`
}
