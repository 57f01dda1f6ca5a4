import { setMachine, trueTime, whenAwake } from './machine'
import { Cron } from 'croner'
import { activeLock, LockError, LockingTaskExecutor, slotOf } from 'shedlock-orm'
import { dialects, SqlLockProvider } from 'shedlock-orm/sql'
import { client, connect } from './connection'
import { EVERY, type Report, type Settings, type Wanted } from './state'

// One instance of the app: a Web Worker with a connection to the database.

/** The number of the next run. Starts at the current time, so that a restarted instance does not repeat a number. */
let runs = trueTime()
let settings = ''
let job: Cron | undefined

function report(what: Report['what'], more: Partial<Report> = {}): void {
  const due = Math.floor(Date.now() / EVERY) * EVERY
  postMessage({ what, at: trueTime(), due, ...more } satisfies Report)
}

function reportError({ error }: { error: unknown }): void {
  report('fails', { why: error instanceof LockError ? error.code : String(error) })
}

/** The job. Unlike a good one it continues when its lock is lost, so that the page can show what happens. */
async function work(milliseconds: number): Promise<void> {
  const [lock, run] = [activeLock(), runs++]
  lock?.signal.addEventListener('abort', () => {
    // The signal also aborts when the run ends.
    if ((lock.signal.reason as LockError).code === 'LOCK_LOST') report('loses its lock', { run })
  })
  report('begins', { run, until: lock && trueTime() + lock.remaining() })
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
  // Reading the signal after a pause reveals the loss.
  report('ends', { run, ...(lock?.signal.aborted && { why: 'without its lock' }) })
}

const provider = new SqlLockProvider(client, dialects.sqlite, { lockedBy: self.name, timeLimit: '1s' })
const listeners = [
  {
    onLockNotAcquired: ({ reason }: { reason: string }) => {
      report('skips', { why: reason })
    },
    onLockFailed: reportError,
    onUnlockFailed: reportError,
    onLockLost: () => undefined,
  },
]

/** The page shows this code, with the visitor's values. */
function schedule(set: Omit<Settings, 'slot'> & { slot: ((cron: Cron) => Date) | undefined }): Cron {
  const executor = new LockingTaskExecutor(provider, { listeners })
  const sendReport = () => work(set.takes)
  const lock = {
    name: 'send-report',
    lockAtMostFor: set.lockAtMostFor,
    lockAtLeastFor: set.lockAtLeastFor,
    keepAlive: set.keepAlive,
    slot: set.slot,
    onError: console.error,
  }
  return new Cron('*/2 * * * * *', set.lock ? executor.wrap(lock, sendReport) : sendReport)
}

self.onmessage = ({ data: wanted }: MessageEvent<Wanted>) => {
  if (wanted.database) connect(wanted.database, whenAwake)
  setMachine(wanted.paused, wanted.behind)
  whenAwake(() => {
    if (settings === JSON.stringify(wanted.settings)) return
    settings = JSON.stringify(wanted.settings)
    job?.stop()
    job = schedule({ ...wanted.settings, slot: wanted.settings.slot ? (cron) => slotOf(cron) : undefined })
  })
}
