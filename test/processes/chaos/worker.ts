import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  LockingTaskExecutor,
  type ActiveLock,
  type LockingTaskExecutorListener,
  type LockProvider,
  type TaskContext,
} from '../../../src/core/internal'
import { rowOf, type LockRow } from '../../../src/sql/internal'
import { providerOf } from '../../core/provider-of'
import { originOf, rememberWherePromisesAreMade } from './crash-origin'
import { monotonic, type ProcessEntry } from './history'
import { Phases, type Ambush, type Phase } from './phases'
import { Random } from './random'
import { Work } from './work'
import { workerClient, type WorkerClient, type WorkerClientOptions } from './worker-client'

export interface WorkerOptions extends WorkerClientOptions {
  readonly historyFile: string
  readonly seed: number
  readonly names: readonly string[]
  /** How many loops compete for locks in the process. */
  readonly loops: number
  /** Milliseconds. */
  readonly lockAtMostFor: number
}

export type MessageToWorker =
  | { readonly type: 'ambush'; readonly ambush: Ambush }
  | { readonly type: 'done' }
  /** Occupy this many connections of the pool for this long. */
  | { readonly type: 'exhaust'; readonly connections: number; readonly milliseconds: number }
  | { readonly type: 'stop' }

export type MessageFromWorker =
  { readonly type: 'ready' } | { readonly type: 'reached'; readonly phase: Phase }

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions
const { names, loops, lockAtMostFor } = options
const ofPostgres = ['postgres', 'cockroachdb'].includes(options.connection.dialect)
/** The locks that this process holds, by name. */
const held = new Map<string, { readonly run: string; readonly lock: ActiveLock }>()
const failedUnlocks = new Map<string, number>()
const random = new Random(options.seed)
let stopping = false
let acted: (() => void) | undefined
const phases = new Phases(
  (phase) =>
    new Promise<void>((resolve) => {
      acted = resolve
      report({ type: 'reached', phase })
    }),
)

function report(message: MessageFromWorker): void {
  process.send?.(message)
}

function record(entry: ProcessEntry): void {
  appendFileSync(options.historyFile, `${JSON.stringify(entry)}\n`)
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name)
}

rememberWherePromisesAreMade()
process.on('uncaughtException', (error) => {
  crash(error, originOf(error))
})
process.on('unhandledRejection', (reason, promise) => {
  const error = reason instanceof Error ? reason : new Error(String(reason))
  crash(error, originOf(error, promise))
})

/** Ends the process, as an app without a handler would. */
function crash(error: Error, origin: 'library' | 'driver'): void {
  record({ type: 'crash', at: monotonic(), error: error.stack ?? error.message, origin })
  process.exit(1)
}

/** Records each acquisition with the end of its lease, and each refusal. */
function witnessed(provider: LockProvider): LockProvider {
  return providerOf(async (configuration) => {
    const asked = monotonic()
    const acquiring = provider.acquire(configuration)
    setTimeout(() => void phases.reach('asking'), random.between(0, 3))
    const acquired = await acquiring
    const at = monotonic()
    const { name, lockAtMostFor, lockAtLeastFor } = configuration
    if ('reason' in acquired) record({ type: 'refused', at, asked, name })
    else if (acquired.lease.remaining() > 0) {
      // A lock whose lease is over when the answer arrives is not given to the caller, so it is not recorded.
      const run = (acquired as LockRow).lockedBy
      const until = at + acquired.lease.remaining()
      record({
        type: 'acquired',
        at,
        asked,
        run,
        name,
        until,
        lockAtMostFor,
        notBefore: asked + lockAtLeastFor,
      })
    }
    return acquired
  })
}

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

function runOf(lock: ActiveLock): string {
  return rowOf(lock).lockedBy
}

/** A typical task: reads a value, works, checks its signal, and writes the result. */
async function task(
  client: WorkerClient,
  name: string,
  { signal, lock }: TaskContext,
  work: Work,
): Promise<string> {
  const run = runOf(lock)
  const guarded = name.startsWith('guarded')
  await phases.reach('acquired')
  const value = await client.transaction(async (transaction) => {
    await transaction.execute('update task_resource set current_run = ? where name = ?', [run, name])
    const [row] = await transaction.rows('select value as "value" from task_resource where name = ?', [name])
    if (guarded) await transaction.guard()
    return Number(row?.['value'])
  })
  await work.on(run, { signal, lock })
  await phases.reach(guarded ? 'checked-guarded' : 'checked')
  // A process that is suspended here can only be stopped by the guard.
  await client.transaction(async (transaction) => {
    await transaction.execute('update task_resource set value = ? where name = ?', [value + 1, name])
    await transaction.execute(
      `insert into task_commit (run, name, guarded, seen) select ${ofPostgres ? '?::text, ?::text, ?::boolean' : '?, ?, ?'}, current_run from task_resource where name = ?`,
      [run, name, ofPostgres ? guarded : Number(guarded), name],
    )
    await phases.reach('in-transaction')
    if (guarded) await transaction.guard()
    await phases.reach('guarded')
  })
  await phases.reach('committed')
  return run
}

async function loop(client: WorkerClient, executor: LockingTaskExecutor): Promise<void> {
  while (!stopping) {
    const name = random.pick(names)
    const work = new Work(lockAtMostFor, random, phases, record)
    const failedBefore = failedUnlocks.get(name)
    const own: { outcome?: unknown; run?: string } = {}
    let outcome: unknown
    try {
      const result = await executor.executeWithLock(
        { name, lockAtMostFor, lockAtLeastFor: work.lockAtLeastFor, keepAlive: work.keepAlive },
        async (context) => {
          own.run = runOf(context.lock)
          held.set(name, { run: own.run, lock: context.lock })
          try {
            own.outcome = await task(client, name, context, work)
            return own.outcome
          } catch (error) {
            own.outcome = error
            throw error
          } finally {
            record({ type: 'ended', at: monotonic(), run: own.run })
            if (held.get(name)?.run === own.run) held.delete(name)
            await phases.reach('unlocking')
          }
        },
      )
      outcome = result.executed ? result.value : undefined
    } catch (error) {
      outcome = error
      record({ type: 'failed', at: monotonic(), code: codeOf(error) })
    }
    if (own.run !== undefined) {
      if (failedUnlocks.get(name) === failedBefore)
        record({ type: 'unlocked', at: monotonic(), run: own.run })
      record({ type: 'outcome', at: monotonic(), run: own.run, own: outcome === own.outcome })
    }
    await sleep(random.between(5, 60))
  }
}

async function exhaust(client: WorkerClient, connections: number, milliseconds: number): Promise<void> {
  const occupy = (): Promise<void> =>
    client.transaction(async (transaction) => {
      await transaction.rows('select name from task_resource', [])
      await sleep(milliseconds)
    })
  await Promise.allSettled(Array.from({ length: connections }, occupy))
}

async function connected(): Promise<WorkerClient> {
  for (;;) {
    try {
      return await workerClient(options)
    } catch (error) {
      record({ type: 'failed', at: monotonic(), code: codeOf(error) })
      await sleep(200)
    }
  }
}

async function main(): Promise<void> {
  // Register this first, because the harness may end before the process has connected.
  process.on('disconnect', () => process.exit(1))
  record({ type: 'started', at: monotonic(), orm: options.orm, timeLimit: options.timeLimit })
  const client = await connected()
  const executor = new LockingTaskExecutor(witnessed(client.provider), {
    listeners: [listener],
  })
  process.on('message', (message: MessageToWorker) => {
    if (message.type === 'ambush') phases.lay(message.ambush)
    else if (message.type === 'done') acted?.()
    else if (message.type === 'stop') stopping = true
    else void exhaust(client, message.connections, message.milliseconds)
  })
  report({ type: 'ready' })
  await Promise.all(Array.from({ length: loops }, () => loop(client, executor)))
  record({ type: 'stopped', at: monotonic() })
  await client.close().catch(() => undefined)
  process.exit(0)
}

void main()
