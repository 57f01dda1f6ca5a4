import dns from 'node:dns'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  acquisitionOf,
  LockingTaskExecutor,
  LockProvider,
  type CheckedLockConfiguration,
  type Duration,
  type LockError,
  type TaskContext,
} from '../../../src/core/internal'
import type { LockRow, SqlLockProvider } from '../../../src/sql/internal'
import { originOf, rememberWherePromisesAreMade } from '../chaos/crash-origin'
import { openClient, type ClientOptions } from './client'
import { monotonic, type Attempt, type Crash, type Entry } from './history'
import type { Job } from './jobs'

export interface WorkerOptions extends ClientOptions {
  readonly jobs: readonly Job[]
}

/** What the harness asks of a process. */
export type Order = 'stop' | { readonly nameLeadsTo: string }

/** The host name of the database, which only the processes know. */
const HOST = 'database.test'
const { lookup } = dns
let address = '127.0.0.1'
dns.lookup = ((host: string, ...rest: Parameters<typeof lookup> extends [string, ...infer R] ? R : never) =>
  lookup(host === HOST ? address : host, ...rest)) as typeof lookup

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions

function record(entry: Entry): void {
  process.send?.(entry)
}

rememberWherePromisesAreMade()
process.on('uncaughtException', (error) => crash(error, originOf(error)))
process.on('unhandledRejection', (reason, promise) => {
  const error = reason instanceof Error ? reason : new Error(String(reason))
  crash(error, originOf(error, promise))
})

/** Ends the process, as an app without a handler would. */
function crash(error: Error, origin: Crash['origin']): void {
  process.send?.({ type: 'crash', origin, error: error.stack ?? error.message } satisfies Crash, () =>
    process.exit(1),
  )
}

/** Records the outcome of each request. */
class Witness extends LockProvider {
  constructor(private readonly provider: SqlLockProvider) {
    super()
  }

  override async acquire(configuration: CheckedLockConfiguration) {
    const at = monotonic()
    const note = (outcome: Attempt['outcome']): void =>
      record({ type: 'attempt', at, to: monotonic(), job: configuration.name, outcome })
    try {
      const answer = await this.provider.acquire(configuration)
      note('reason' in answer ? 'refused' : 'acquired')
      return answer
    } catch (error) {
      const { code, message } = error as LockError
      note({ error: `${code}: ${message}` })
      throw error
    }
  }

  override drain = (timeout?: Duration): Promise<void> => this.provider.drain(timeout)
}

/** Runs each job whenever it is due, unless its last run in this process is still in progress. */
async function main(): Promise<void> {
  process.on('disconnect', () => process.exit(1))
  const client = await openClient({ ...options, host: HOST })
  const failedUnlocks = new Set<string>()
  const executor = new LockingTaskExecutor(new Witness(client.provider), {
    listeners: [{ onUnlockFailed: ({ name }) => void failedUnlocks.add(name) }],
  })

  const run = async (
    { name, lockAtMostFor, runsFor: [shortest, longest], keepAlive, untilSucceeded }: Job,
    slot?: number,
  ) => {
    let section: Omit<Extract<Entry, { type: 'section' }>, 'recorded'> | undefined
    const task = async ({ lock, signal }: TaskContext): Promise<void> => {
      const from = monotonic()
      const row = acquisitionOf(lock) as LockRow
      const end = from + shortest + Math.random() * (longest - shortest)
      let trusted = from + lock.remaining()
      const asked = lock.fencingToken().catch(() => undefined)
      while (monotonic() < end && !signal.aborted) {
        await sleep(10)
        // Read the clock first: if the process is suspended between the two, the lease must not appear longer than it is.
        const now = monotonic()
        const left = lock.remaining()
        if (left > 0) trusted = now + left
      }
      const to = Math.min(monotonic(), trusted)
      const token = await Promise.race([asked, sleep(100, undefined)])
      section = {
        type: 'section',
        job: name,
        owner: row.lockedBy,
        from,
        to,
        token,
        slot,
        lost: isLost(signal),
      }
      signal.throwIfAborted()
    }
    failedUnlocks.delete(name)
    try {
      await executor.executeWithLock({ name, lockAtMostFor, keepAlive, slot, untilSucceeded }, task)
    } catch {
      // The witness has recorded the error.
    }
    if (section) record({ ...section, recorded: !section.lost && !failedUnlocks.has(name) })
  }

  const stop = new AbortController()
  const schedule = async (job: Job): Promise<void> => {
    while (!stop.signal.aborted) {
      const next = job.every - (Date.now() % job.every)
      await sleep(next + Math.random() * 20, undefined, stop)
      // A timer may fire a moment early.
      await run(job, job.slot && Math.round(Date.now() / job.every) * job.every)
    }
  }
  process.on('message', (order: Order) => {
    if (order !== 'stop') {
      address = order.nameLeadsTo
      return
    }
    stop.abort()
    void executor.shutdown().then(() => process.exit(0))
  })
  process.send?.('ready')
  for (const job of options.jobs) schedule(job).catch(() => undefined)
}

function isLost({ aborted, reason }: AbortSignal): boolean {
  return aborted && (reason as LockError).code === 'LOCK_LOST'
}

void main()
