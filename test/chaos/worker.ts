import { appendFileSync } from 'node:fs'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor, type LockProvider, type TaskContext } from '../../src/core'
import type { SqlAcquisition } from '../../src/sql'
import { monotonic, type ProcessEntry } from './history'
import { Phases, type Ambush, type Phase } from './phases'
import { Random } from './random'
import { workerClient, type WorkerClient, type WorkerClientOptions } from './worker-client'

export interface WorkerOptions extends WorkerClientOptions {
  readonly historyFile: string
  readonly seed: number
  readonly names: readonly string[]
  /** How many runs the process tries at the same time. */
  readonly loops: number
  /** Milliseconds. */
  readonly lockAtMostFor: number
}

export type MessageToWorker =
  | { readonly type: 'ambush'; readonly ambush: Ambush }
  | { readonly type: 'done' }
  /** Take this many connections out of the pool for this long. */
  | { readonly type: 'exhaust'; readonly connections: number; readonly milliseconds: number }
  | { readonly type: 'stop' }

export type MessageFromWorker =
  { readonly type: 'ready' } | { readonly type: 'reached'; readonly phase: Phase }

/** How long after the end of the lease an awake process may take to abort its signal: two turns of its event loop, and a busy machine. */
const ABORT_GRACE = 250

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions
const { names, loops, lockAtMostFor } = options
const random = new Random(options.seed)
let stopping = false
let acted: (() => void) | undefined
const phases = new Phases(
  (phase) =>
    new Promise<void>((resolve) => {
      acted = resolve
      tell({ type: 'reached', phase })
    }),
)

function tell(message: MessageFromWorker): void {
  process.send?.(message)
}

function record(entry: ProcessEntry): void {
  appendFileSync(options.historyFile, `${JSON.stringify(entry)}\n`)
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name)
}

/** What a driver throws out of its socket's handlers ends the process of any app; everything else would be ours. */
process.on('uncaughtException', (error, kind) => {
  const stack = error.stack ?? error.message
  const driver = kind === 'uncaughtException' && stack.includes('node_modules') && !stack.includes('/src/')
  record({ type: 'crash', at: monotonic(), error: stack, origin: driver ? 'driver' : 'library' })
  process.exit(1)
})

/** Notes when a lock is handed out, and how long it may be trusted. */
function witnessed(provider: LockProvider): LockProvider {
  return {
    lock: async (configuration) => {
      const asked = provider.lock(configuration)
      setTimeout(() => void phases.reach('asking'), random.between(0, 3))
      const lock = await asked
      if (lock) {
        const at = monotonic()
        record({
          type: 'acquired',
          at,
          run: runOf(lock.acquisition),
          name: lock.name,
          until: at + lock.remaining(),
        })
      }
      return lock
    },
  }
}

function runOf(acquisition: object | undefined): string {
  return (acquisition as SqlAcquisition).values.lockedBy
}

/** A task such as people write: reads, works, writes what it computed – and looks at its signal in between. */
async function task(client: WorkerClient, name: string, { signal, lock }: TaskContext): Promise<string> {
  const run = runOf(lock.acquisition)
  const guarded = name.startsWith('guarded')
  await phases.reach('acquired')
  const value = await client.transaction(async (transaction) => {
    await transaction.execute('update resource set current_run = ? where name = ?', [run, name])
    const [row] = await transaction.rows('select value from resource where name = ?', [name])
    if (guarded) await transaction.guard()
    return Number(row?.['value'])
  })
  await work(run, { signal, lock })
  await phases.reach('checked')
  // Here a process may sleep for hours: only the guard sees it.
  await client.transaction(async (transaction) => {
    await transaction.execute('update resource set value = ? where name = ?', [value + 1, name])
    await transaction.execute(
      `insert into task_commit (run, name, guarded, seen) select ${options.connection.dialect === 'postgres' ? '?::text, ?::text, ?::boolean' : '?, ?, ?'}, current_run from resource where name = ?`,
      [run, name, options.connection.dialect === 'postgres' ? guarded : Number(guarded), name],
    )
    await phases.reach('in-transaction')
    if (guarded) await transaction.guard()
    await phases.reach('guarded')
  })
  await phases.reach('committed')
  return run
}

/** Mostly shorter than the lease, sometimes longer with extensions, and now and then longer without. */
async function work(run: string, { signal, lock }: Pick<TaskContext, 'signal' | 'lock'>): Promise<void> {
  const kind = random.next()
  const duration = kind < 0.9 ? random.between(5, lockAtMostFor / 5) : lockAtMostFor * random.between(1, 1.6)
  const extending = kind >= 0.9 && kind < 0.97
  const end = monotonic() + duration
  while (monotonic() < end) {
    await sleep(random.between(2, 20))
    await phases.reach('working')
    if (lock.remaining() === 0 && !signal.aborted) await expectAbort(run, signal)
    signal.throwIfAborted()
    if (extending && lock.remaining() < lockAtMostFor / 2) {
      await lock.extend(lockAtMostFor)
      const at = monotonic()
      record({ type: 'extended', at, run, until: at + lock.remaining() })
    }
  }
}

/** A process that just woke up needs a turn of its event loop before its timers have fired. */
async function expectAbort(run: string, signal: AbortSignal): Promise<void> {
  const since = monotonic()
  do await turn()
  while (!signal.aborted && monotonic() - since < ABORT_GRACE)
  if (!signal.aborted) record({ type: 'unaborted', at: monotonic(), run })
}

async function loop(client: WorkerClient, executor: LockingTaskExecutor): Promise<void> {
  while (!stopping) {
    const name = random.pick(names)
    const lockAtLeastFor = random.chance(0.2) ? lockAtMostFor / 10 : 0
    const own: { outcome?: unknown; run?: string } = {}
    let outcome: unknown
    try {
      const result = await executor.executeWithLock(
        { name, lockAtMostFor, lockAtLeastFor },
        async (context) => {
          own.run = runOf(context.lock.acquisition)
          try {
            own.outcome = await task(client, name, context)
            return own.outcome
          } catch (error) {
            own.outcome = error
            throw error
          } finally {
            record({ type: 'ended', at: monotonic(), run: own.run })
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
      record({ type: 'outcome', at: monotonic(), run: own.run, own: outcome === own.outcome })
    }
    await sleep(random.between(5, 60))
  }
}

async function exhaust(client: WorkerClient, connections: number, milliseconds: number): Promise<void> {
  const occupy = (): Promise<void> =>
    client.transaction(async (transaction) => {
      await transaction.rows('select 1', [])
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
  const client = await connected()
  const executor = new LockingTaskExecutor(witnessed(client.provider), {
    listeners: [{ onUnlockFailed: () => undefined }],
  })
  process.on('message', (message: MessageToWorker) => {
    if (message.type === 'ambush') phases.lay(message.ambush)
    else if (message.type === 'done') acted?.()
    else if (message.type === 'stop') stopping = true
    else void exhaust(client, message.connections, message.milliseconds)
  })
  process.on('disconnect', () => process.exit(1))
  tell({ type: 'ready' })
  await Promise.all(Array.from({ length: loops }, () => loop(client, executor)))
  record({ type: 'stopped', at: monotonic() })
  await client.close().catch(() => undefined)
  process.exit(0)
}

void main()
