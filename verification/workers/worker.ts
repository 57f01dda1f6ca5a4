import { setTimeout as sleep } from 'node:timers/promises'
import type { LockError } from '../../src/core/errors'
import { acquisitionOf } from '../../src/core/held-lock'
import { leaderElection } from '../../src/core/leader-election'
import type { LockingTaskExecutorListener } from '../../src/core/listener'
import type {
  Acquisition,
  ActiveLock,
  CheckedLockConfiguration,
  LockConfiguration,
  Duration,
  TaskContext,
} from '../../src/core/lock'
import { LockProvider } from '../../src/core/lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { LockRow } from '../../src/sql/lock-row'
import { monotonic, recorder, type ProcessEntry } from '../history/events'
import { openClient, type Client } from './client'
import { originOf, rememberWherePromisesAreMade } from './crash-origin'
import type { Job } from './jobs'
import { Phases } from './phases'
import type { MessageFromProcess, MessageToProcess, Plan } from './plan'
import { Random } from './random'
import { RandomWork } from './random-work'

// The program of an app's processes: it does what its plan says, and records it.

const plan = JSON.parse(process.argv[2] ?? '') as Plan
const record = recorder(plan.file, plan.process)
const random = new Random(plan.seed)
const stop = new AbortController()

function send(message: MessageFromProcess): void {
  process.send?.(message)
}

let acted: (() => void) | undefined
const phases = new Phases(
  (phase) =>
    new Promise<void>((resolve) => {
      acted = resolve
      send({ type: 'reached', phase })
    }),
)

if (plan.isMeasured !== true) rememberWherePromisesAreMade()
process.on('uncaughtException', (error) => crash(error, originOf(error)))
process.on('unhandledRejection', (reason, promise) => {
  const error = reason instanceof Error ? reason : new Error(String(reason))
  crash(error, originOf(error, promise))
})

/** Ends the process, as an app without a handler would. */
function crash(error: Error, origin: 'library' | 'driver'): void {
  record({ type: 'crash', at: monotonic(), error: error.stack ?? error.message, origin })
  process.exit(1)
}

/** Records the outcome of each request, with the end of the lease. */
class Witness extends LockProvider {
  constructor(private readonly provider: LockProvider) {
    super()
  }

  override async acquire(configuration: CheckedLockConfiguration) {
    const { name, lockAtMostFor, lockAtLeastFor } = configuration
    const asked = monotonic()
    try {
      const acquiring = this.provider.acquire(configuration)
      setTimeout(() => void phases.reach('asking'), random.between(0, 3))
      const acquired = await acquiring
      const at = monotonic()
      if ('reason' in acquired) {
        const { slot, untilSucceeded: until } = configuration
        record({ type: 'refused', at, asked, name, reason: acquired.reason, slot, until })
      }
      // A lock whose lease is over when the answer arrives is not given to the caller, so it is not recorded.
      else if (acquired.lease.remaining() > 0) {
        const run = (acquired as LockRow).owner
        record({
          ...{ type: 'acquired', at, asked, name, lockAtMostFor },
          ...{ run, until: at + acquired.lease.remaining(), notBefore: asked + lockAtLeastFor },
        })
        recordUnused(acquired, run)
      }
      return acquired
    } catch (error) {
      const { code, message } = error as LockError
      record({ type: 'failed', at: monotonic(), asked, name, error: `${code}: ${message}` })
      throw error
    }
  }

  override drain = (timeout?: Duration): Promise<void> => this.provider.drain?.(timeout) ?? Promise.resolve()
}

/** Records the end of a lock whose task does not run, because its executor was shut down meanwhile. */
function recordUnused(acquired: Acquisition, run: string): void {
  const unlock = acquired.unlock.bind(acquired)
  acquired.unlock = (outcome) => {
    if (outcome === 'unused') {
      record({ type: 'ended', at: monotonic(), run })
      record({ type: 'outcome', at: monotonic(), run, own: true })
    }
    return unlock(outcome)
  }
}

/** The locks that this process holds, by name. */
const held = new Map<string, { readonly run: string; readonly lock: ActiveLock }>()
const failedUnlocks = new Map<string, number>()
const listener: LockingTaskExecutorListener = {
  /** Extended by the task or by keep-alive. */
  onLockExtended: ({ name }) => {
    const holder = held.get(name)
    const at = monotonic()
    if (holder) record({ type: 'extended', at, run: holder.run, until: at + holder.lock.remaining() })
  },
  onUnlockFailed: ({ name }) => {
    failedUnlocks.set(name, (failedUnlocks.get(name) ?? 0) + 1)
  },
}

function hold(name: string, lock: ActiveLock): string {
  const run = (acquisitionOf(lock) as LockRow).owner
  held.set(name, { run, lock })
  return run
}

/** Runs a task under its lock, and records what becomes of both. */
async function execute(
  executor: LockingTaskExecutor,
  configuration: LockConfiguration & { readonly untilSucceeded?: true | undefined },
  task: (context: TaskContext, run: string) => Promise<unknown>,
): Promise<void> {
  const { name, slot, untilSucceeded } = configuration
  const failedBefore = failedUnlocks.get(name)
  const own: { outcome?: unknown; run?: string } = {}
  let outcome: unknown
  try {
    const result = await executor.executeWithLock(configuration, async (context) => {
      const run = (own.run = hold(name, context.lock))
      if (slot !== undefined)
        record({ type: 'slot', at: monotonic(), run, name, slot: Number(slot), until: untilSucceeded })
      let succeeded = false
      try {
        own.outcome = await task(context, run)
        succeeded = true
        return own.outcome
      } catch (error) {
        own.outcome = error
        throw error
      } finally {
        record({ type: 'ended', at: monotonic(), run, succeeded, lost: isLost(context.signal) })
        if (held.get(name)?.run === run) held.delete(name)
        await phases.reach('unlocking')
      }
    })
    outcome = result.executed ? result.value : undefined
  } catch (error) {
    outcome = error
  }
  if (own.run === undefined) return
  if (failedUnlocks.get(name) === failedBefore) record({ type: 'unlocked', at: monotonic(), run: own.run })
  record({ type: 'outcome', at: monotonic(), run: own.run, own: outcome === own.outcome })
}

function isLost({ aborted, reason }: AbortSignal): boolean {
  return aborted && (reason as LockError).code === 'LOCK_LOST'
}

/** A typical task: reads a value, works, checks its signal, and writes the result. */
async function changeCounter(
  client: Client,
  name: string,
  run: string,
  work: () => Promise<void>,
): Promise<string> {
  const isPostgres = ['postgres', 'cockroachdb'].includes(plan.connection.dialect)
  const guarded = name.startsWith('guarded')
  await phases.reach('acquired')
  const value = await client.transaction(async (transaction) => {
    await transaction.query('update task_resource set current_run = ? where name = ?', [run, name])
    const [row] = await transaction.query('select value as "value" from task_resource where name = ?', [name])
    if (guarded) await transaction.guard()
    return Number(row?.['value'])
  })
  await work()
  await phases.reach(guarded ? 'checked-guarded' : 'checked')
  // A process that is suspended here can only be stopped by the guard.
  await client.transaction(async (transaction) => {
    await transaction.query('update task_resource set value = ? where name = ?', [value + 1, name])
    await transaction.query(
      `insert into task_commit (run, name, guarded, seen) select ${isPostgres ? '?::text, ?::text, ?::boolean' : '?, ?, ?'}, current_run from task_resource where name = ?`,
      [run, name, isPostgres ? guarded : Number(guarded), name],
    )
    await phases.reach('in-transaction')
    if (guarded) await transaction.guard()
    await phases.reach('guarded')
  })
  await phases.reach('committed')
  return run
}

type Of<Kind extends Plan['work']['kind']> = Extract<Plan['work'], { kind: Kind }>

async function competeAtRandom(
  { names, lockAtMostFor }: Of<'random'>,
  client: Client,
  executor: LockingTaskExecutor,
): Promise<void> {
  while (!stop.signal.aborted) {
    const name = random.pick(names)
    const work = new RandomWork(lockAtMostFor, random, phases, record)
    const { lockAtLeastFor, keepAlive } = work
    await execute(executor, { name, lockAtMostFor, lockAtLeastFor, keepAlive }, (context, run) =>
      changeCounter(client, name, run, () => work.on(run, context)),
    )
    await sleep(random.between(5, 60))
  }
}

/** Runs a job whenever it is due, unless its last run in this process is still in progress. */
async function schedule({ every, slot, runsFor, ...job }: Job, executor: LockingTaskExecutor): Promise<void> {
  const task = async ({ lock, signal }: TaskContext, run: string): Promise<void> => {
    const end = monotonic() + random.between(...runsFor)
    const asked = lock.fencingToken().catch(() => undefined)
    while (monotonic() < end && !signal.aborted) await sleep(10)
    const token = await Promise.race([asked, sleep(100, undefined)])
    if (token !== undefined) record({ type: 'token', at: monotonic(), run, token })
    signal.throwIfAborted()
  }
  while (!stop.signal.aborted) {
    await sleep(every - (Date.now() % every) + random.between(0, 20), undefined, stop)
    // A timer may fire a moment early.
    const due = Math.round(Date.now() / every) * every
    await execute(executor, { ...job, ...(slot && { slot: due }) }, task)
  }
}

/** Stands for election, and records each moment at which it considers itself the leader. */
function standForElection({ lockAtMostFor }: Of<'leader'>, provider: LockProvider): () => Promise<void> {
  const configuration = { name: 'leader', lockAtMostFor, interval: lockAtMostFor / 10, listeners: [listener] }
  const election = leaderElection(provider, configuration, {
    onElected: async (lock) => {
      const run = hold('leader', lock)
      record({ type: 'token', at: monotonic(), run, token: await lock.fencingToken() })
      let last = monotonic()
      while (!lock.signal.aborted) {
        // Read the time first: what is claimed afterwards was true then, too.
        const at = monotonic()
        if (election.isLeader()) record({ type: 'held', at: (last = at), run })
        await sleep(5)
      }
      record({ type: 'ended', at: last, run })
      // Nobody waits for a leader's result.
      record({ type: 'outcome', at: last, run, own: true })
    },
    onError: () => undefined,
  })
  return async () => {
    await election.shutdown()
  }
}

async function occupy(client: Client, connections: number, milliseconds: number): Promise<void> {
  const one = (): Promise<void> =>
    client.transaction(async (transaction) => {
      await transaction.query('select name from task_resource')
      await sleep(milliseconds)
    })
  await Promise.allSettled(Array.from({ length: connections }, one))
}

function measure(): void {
  globalThis.gc?.()
  const { heapUsed: heap, rss } = process.memoryUsage()
  record({ type: 'memory', at: monotonic(), heap, rss })
}

async function connected(): Promise<Client> {
  for (;;) {
    try {
      return await openClient(plan)
    } catch (error) {
      if (stop.signal.aborted) throw error
      await sleep(200)
    }
  }
}

async function main(): Promise<void> {
  // Register these first, because the harness may end before the process has connected.
  process.on('disconnect', () => process.exit(1))
  const { work, orm, address } = plan
  record({ type: 'started', at: monotonic(), orm, address })
  const opening = connected()
  process.on('message', (message: MessageToProcess) => {
    if (message.type === 'ambush') phases.lay(message.ambush)
    else if (message.type === 'done') acted?.()
    else if (message.type === 'stop') stop.abort()
    else if (message.type === 'measure') measure()
    else void opening.then((client) => occupy(client, message.connections, message.milliseconds))
  })
  const client = await opening
  const { provider } = client
  const executor = new LockingTaskExecutor(new Witness(provider), { listeners: [listener] })
  send({ type: 'ready' })
  const stopped = new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
  if (work.kind === 'leader') {
    const resign = standForElection(work, new Witness(provider))
    await stopped
    await resign()
  } else if (work.kind === 'jobs') {
    const jobs = work.jobs.map((job) => schedule(job, executor).catch(() => undefined))
    await stopped
    await executor.shutdown()
    await Promise.all(jobs)
  } else {
    await Promise.all(Array.from({ length: work.loops }, () => competeAtRandom(work, client, executor)))
  }
  record({ type: 'stopped', at: monotonic() } satisfies ProcessEntry)
  await Promise.race([client.close().catch(() => undefined), sleep(2_000)])
  process.exit(0)
}

void main()
