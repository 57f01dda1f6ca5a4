import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource } from 'typeorm'
import type * as core from '../../src/core/internal'
import type { LockRow } from '../../src/sql/lock-row'
import type * as typeorm from '../../src/typeorm/internal'
import { dataSourceOptions } from '../workers/connection'
import { Random } from '../workers/random'
import { monotonic, recorder, type ProcessEntry } from '../history/events'
import { misreadings } from './read-row'
import type { InstanceOrder } from './run-versions'

// One app instance with one version of the package. It must not contain any of this version's sources.

const OUTCOMES = ['succeeded', 'failed', 'unlocked'] as const
/** In milliseconds. */
const SLOT = 250
const PAUSE = 400
const LATE = 60_000

type Provider = ReturnType<typeof typeorm.typeOrmLockProvider>
type Configuration = core.LockConfiguration & { readonly lockAtMostFor: number }

async function work(order: InstanceOrder, dataSource: DataSource): Promise<void> {
  const { version, names, seed, milliseconds } = order
  const load = createRequire(join(order.folder, 'package.json'))
  const { LockingTaskExecutor } = load('shedlock-orm') as typeof core
  const { typeOrmLockProvider } = load('shedlock-orm/typeorm') as typeof typeorm
  const { acquisitionOf } = load(join(order.folder, 'dist/core/internal.js')) as typeof core
  const random = new Random(seed)
  const record = recorder(order.file, order.process)
  // On a busy machine it may take longer than asked for until it has done each once.
  const notYet = new Set<ProcessEntry['type']>(['acquired', 'slot', 'paused', 'read'])
  const write = (event: ProcessEntry): void => {
    notYet.delete(event.type)
    record(event)
  }
  const end = monotonic() + milliseconds
  const workers = OUTCOMES.map((outcome) => ({
    outcome,
    provider: typeOrmLockProvider(dataSource, { lockedBy: `${version}|${outcome}`, timeLimit: '20s' }),
  }))

  /** Returns the owner in the row. */
  const ownerOf = (lock: core.ActiveLock): string => {
    // Older versions call it otherwise.
    const { owner, lockedBy, row } = acquisitionOf(lock) as Partial<LockRow & { lockedBy: string }> & {
      row?: { lockedBy: string }
    }
    return String(owner ?? lockedBy ?? row?.lockedBy)
  }
  const acquired = (asked: number, configuration: Configuration, lock: core.ActiveLock): string => {
    const { name, lockAtMostFor, lockAtLeastFor, slot } = configuration
    const [at, run] = [monotonic(), ownerOf(lock)]
    const notBefore = asked + Number(lockAtLeastFor ?? 0)
    write({ type: 'acquired', at, asked, run, name, until: at + lock.remaining(), lockAtMostFor, notBefore })
    if (slot !== undefined) write({ type: 'slot', at, run, name, slot: Number(slot) })
    return run
  }
  const refused = (asked: number, { name, slot }: Configuration): void => {
    if (slot === undefined) write({ type: 'refused', at: monotonic(), asked, name, reason: 'held' })
  }
  const ended = (run: string): void => {
    write({ type: 'ended', at: monotonic(), run })
    write({ type: 'outcome', at: monotonic(), run, own: true })
  }

  /** Holds a lock that is extended, released, or left to its lease. */
  const hold = async (name: string, slot?: number): Promise<void> => {
    const { provider, outcome } = random.pick(workers)
    const lockAtMostFor = Math.round(random.between(300, 1_000))
    const configuration = { name, slot, lockAtMostFor, lockAtLeastFor: random.chance(0.1) ? 100 : 0 }
    const asked = monotonic()
    const lock = await provider.lock(configuration).catch((error: unknown) => {
      write({ type: 'failed', at: monotonic(), asked, name, error: String(error) })
      return null
    })
    if (!lock) {
      if (lock === undefined) refused(asked, configuration)
      return
    }
    const run = acquired(asked, configuration, lock)
    await sleep(random.between(0, 30))
    let isHeld = true
    if (random.chance(0.3)) {
      write({ type: 'extending', at: monotonic(), run, lockAtMostFor })
      isHeld = await lock.extend(lockAtMostFor).then(
        () => true,
        () => false,
      )
      if (isHeld) write({ type: 'extended', at: monotonic(), run, until: monotonic() + lock.remaining() })
      await sleep(random.between(0, 30))
    }
    ended(run)
    if (!isHeld || random.chance(0.05)) return
    await lock.unlock(outcome === 'unlocked' ? {} : { outcome }).catch(() => undefined)
    write({ type: 'unlocked', at: monotonic(), run })
  }

  /** Runs a task with the executor, which releases its lock. */
  const execute = async (name: string): Promise<void> => {
    const { provider, outcome } = random.pick(workers)
    if (outcome === 'unlocked') return
    const configuration = { name, lockAtMostFor: 600, keepAlive: random.chance(0.3) }
    const asked = monotonic()
    let run: string | undefined
    const task = async ({ lock }: core.TaskContext): Promise<void> => {
      run = acquired(asked, configuration, lock)
      await sleep(random.between(0, 30))
      ended(run)
      if (outcome === 'failed') throw new Error('of the task')
    }
    try {
      const { executed } = await new LockingTaskExecutor(provider).executeWithLock(configuration, task)
      if (!executed) refused(asked, configuration)
    } catch {
      // The task's own error, or the answer came too late.
    }
    if (run !== undefined) write({ type: 'unlocked', at: monotonic(), run })
  }

  const pause = async ({ table }: Provider, name: string): Promise<void> => {
    const asked = monotonic()
    const run = `${version} pauses at ${asked.toFixed(3)}`
    if (!(await table.pause(name, { duration: PAUSE, reason: 'a test', pausedBy: version }))) return
    write({ type: 'paused', at: monotonic(), asked, run, name, until: asked + PAUSE })
  }
  const resume = async ({ table }: Provider, name: string): Promise<void> => {
    const from = monotonic()
    write({ type: 'resuming', at: from, name })
    if (await table.resume(name)) write({ type: 'resumed', at: monotonic(), name, from })
  }
  const read = async ({ table }: Provider): Promise<void> => {
    for (const row of await table.list()) {
      write({ type: 'read', at: monotonic() })
      for (const what of misreadings(row))
        write({ type: 'misread', at: monotonic(), what: `${version}: ${what}: ${JSON.stringify(row)}` })
    }
  }

  const repeat = async (interval: number, step: () => Promise<void>): Promise<void> => {
    while (monotonic() < end || (notYet.size > 0 && monotonic() < end + LATE)) {
      await step()
      await sleep(random.between(0, 2 * interval))
    }
  }
  const any = (): Provider => random.pick(workers).provider
  write({ type: 'started', at: monotonic(), orm: 'typeorm', version })
  await Promise.all([
    repeat(5, () => hold(random.pick([...names.plain, ...names.paused]))),
    repeat(5, () => execute(random.pick(names.plain))),
    repeat(SLOT / 4, () => hold(random.pick(names.slot), Math.floor(Date.now() / SLOT) * SLOT)),
    repeat(150, () => pause(any(), random.pick(names.paused))),
    repeat(400, () => resume(any(), random.pick(names.paused))),
    repeat(20, () => read(any())),
  ])
}

async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2] ?? '') as InstanceOrder
  const dataSource = await new DataSource(dataSourceOptions(order.connection)).initialize()
  await work(order, dataSource)
  await dataSource.destroy()
}

void main()
