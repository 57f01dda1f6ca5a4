import { styleText } from 'node:util'
import { formatDuration, printable } from '../core/internal'
import {
  displayedOwner,
  holder,
  isTrouble,
  JOB_STATES,
  jobView,
  troubleFirst,
  wasAcquired,
  type JobView,
  type LockRecord,
  type Place,
  type SqlLockProvider,
} from '../sql/internal'
import { refusal } from './command-error'
import { labelled } from './layout'
import { COMMAND, print, printJson } from './output'

/** @throws CommandError if the table has no such lock */
export async function existingLock(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = await provider.table.find(name)
  if (!lock)
    throw refusal(
      `There is no lock '${name}' in the table – check the name, and whether the job uses this table: ${COMMAND} list shows all of them.`,
    )
  return lock
}

/** Of the states that need no person. */
const COLOURS = { running: 'cyan', paused: 'yellow', idle: 'gray' } as const

/** @param place its table, for JSON */
export function show(lock: LockRecord, json = false, place?: Place): void {
  if (json) printJson({ ...forJson(jobView(lock.name, lock)), place })
  else print(details(lock))
}

/** One line for each job, trouble first. */
export function lines(jobs: readonly JobView[]): string {
  const sorted = [...jobs].sort(troubleFirst)
  return labelled(sorted.map((job) => [printable(job.name), coloured(job, sentence(job))]))
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

function details(lock: LockRecord): string {
  const job = jobView(lock.name, lock)
  const { next, never } = JOB_STATES[job.state]
  const { duration } = lock.lastRun ?? {}
  const rows = {
    name: printable(lock.name),
    state: coloured(job, `${job.state}${why(job) && `, ${why(job)}`}`),
    next,
    never,
    took: duration === undefined ? '' : formatDuration(duration),
    owner: owner(job),
    process: holder(lock) ?? '',
    'locked at': wasAcquired(lock) ? at(lock.lockedAt, lock.now) : 'never',
    'lock until': at(lock.lockUntil, lock.now),
  }
  return labelled(Object.entries(rows).filter(([, value]) => value !== ''))
}

/** The job as `--json` prints it. `lockedAt` is null for a job that was never acquired. */
export function forJson({ record, ...job }: JobView): object {
  return { ...job, ...record, lockedAt: record && wasAcquired(record) ? record.lockedAt : null }
}

/** The beginning of a sentence. */
export function stateOf(lock: LockRecord): string {
  return `Lock '${printable(lock.name)}': ${sentence(jobView(lock.name, lock))}`
}

function coloured({ state }: JobView, text: string): string {
  return styleText(isTrouble(state) ? 'red' : COLOURS[state as keyof typeof COLOURS], text)
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
