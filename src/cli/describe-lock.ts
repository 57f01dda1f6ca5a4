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

/** For programs, which get times in ISO 8601. */
const COLUMNS: Readonly<Record<string, (job: JobView) => string>> = {
  NAME: ({ name }) => printable(name),
  STATE: ({ state }) => state,
  WHY: why,
  OWNER: owner,
  TOOK: took,
  'LOCKED AT': ({ record }) => (record && wasAcquired(record) ? record.lockedAt.toISOString() : 'never'),
  'LOCK UNTIL': ({ record }) => record?.lockUntil.toISOString() ?? '',
}

/** One line for each job, trouble first. */
export function table(jobs: readonly JobView[]): string {
  const rows = [...jobs].sort(troubleFirst).map((job) => Object.values(COLUMNS).map((cell) => cell(job)))
  return columns([Object.keys(COLUMNS), ...rows])
}

const STYLES = { running: 'cyan', paused: 'yellow', idle: 'gray' } as const

/** The same for people, and what to do next in each state that needs one. */
export function forPeople(jobs: readonly JobView[]): string {
  const sorted = [...jobs].sort(troubleFirst)
  const lines = sorted.map((job): [Cell, Cell] => [printable(job.name), [sentence(job), styleOf(job)]])
  const states = [...new Set(sorted.map(({ state }) => state).filter(isTrouble))]
  const advice = labelled(states.map((state): [Cell, Cell] => [state, JOB_STATES[state].next]))
  return `${labelled(lines)}\n${advice && `\n${advice}\n`}`
}

/** The state of a job, why, and by whom. */
export function sentence(job: JobView): string {
  const [reason, who] = [why(job), owner(job)]
  return `${job.state}${reason && `${reason.startsWith('for ') ? ' ' : ', '}${reason}`}${who && ` (${who})`}`
}

export function details(lock: LockRecord): string {
  const job = jobView(lock.name, lock)
  const { next, never } = JOB_STATES[job.state]
  const rows: readonly (readonly [Cell, Cell])[] = [
    ['name', printable(lock.name)],
    ['state', [`${job.state}${why(job) && `, ${why(job)}`}`, styleOf(job)]],
    ['next', next],
    ['never', never],
    ['took', took(job)],
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

function took({ record }: JobView): string {
  const time = record?.lastRun?.duration
  return time === undefined ? '' : formatDuration(time)
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
