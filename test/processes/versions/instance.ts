import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource } from 'typeorm'
import type * as core from '../../../src/core/internal'
import type * as typeorm from '../../../src/typeorm/internal'
import { dataSourceOptions } from '../app/connection'
import { Random } from '../app/random'
import { monotonic, recorder } from '../history/events'
import { NAMES, type InstanceOrder } from './order'
import { misreadings, takenFor, type Author } from './read-row'

// One app instance with one version of the package. Nothing of this version's sources may be in it.

const OUTCOMES = ['succeeded', 'failed', 'unlocked'] as const
/** In milliseconds. */
const SLOT = 250

class Instance {
  readonly #random: Random
  readonly #end: number
  readonly #core: typeof core
  readonly #acquisitionOf: Partial<typeof core>['acquisitionOf']
  readonly #typeorm: typeof typeorm
  readonly #write: ReturnType<typeof recorder>

  constructor(
    private readonly order: InstanceOrder,
    private readonly dataSource: DataSource,
  ) {
    const load = createRequire(join(order.folder, 'package.json'))
    this.#core = load('shedlock-orm') as typeof core
    this.#typeorm = load('shedlock-orm/typeorm') as typeof typeorm
    // Behind the door; versions before had no such room.
    const room = join(order.folder, 'dist/core/internal.js')
    this.#acquisitionOf = existsSync(room) ? (load(room) as typeof core).acquisitionOf : undefined
    this.#random = new Random(order.seed)
    this.#write = recorder(order.file, order.process)
    this.#end = monotonic() + order.milliseconds
  }

  async run(): Promise<void> {
    const { version } = this.order
    this.#write({ type: 'started', at: monotonic(), orm: 'typeorm', version })
    const knowsOutcomes = await this.#knowsOutcomes()
    const providers = OUTCOMES.map((outcome) => {
      const author: Author = { version: this.order.version, knowsOutcomes, outcome }
      return { outcome, provider: this.#provider(`${author.version}|${String(knowsOutcomes)}|${outcome}`) }
    })
    const any = () => this.#random.pick(providers)
    await Promise.all([
      this.#repeat(5, () => this.#hold(any())),
      this.#repeat(5, () => this.#execute(any())),
      this.#repeat(SLOT / 4, () => this.#slot(any())),
      this.#repeat(150, () => this.#pause(any().provider)),
      this.#repeat(400, () => this.#resume(any().provider)),
      this.#repeat(20, () => this.#read(any().provider, knowsOutcomes)),
    ])
  }

  async #repeat(pause: number, step: () => Promise<void>): Promise<void> {
    while (monotonic() < this.#end) {
      await step()
      await sleep(this.#random.between(0, 2 * pause))
    }
  }

  #provider(lockedBy: string) {
    return this.#typeorm.typeOrmLockProvider(this.dataSource, { lockedBy, timeLimit: '20s' })
  }

  /** Whether this version's releases say how the run ended. */
  async #knowsOutcomes(): Promise<boolean> {
    const name = `own-${process.pid}`
    const provider = this.#provider('own')
    const lock = await provider.lock({ name, lockAtMostFor: '1m' })
    await lock?.unlock({ outcome: 'succeeded' })
    const row = (await operations(provider).list()).find((each) => each.name === name)
    return row?.lastRun?.outcome === 'succeeded'
  }

  /** By hand: extended, released, or left to its lease. */
  async #hold({ provider, outcome }: Worker): Promise<void> {
    const lockAtMostFor = Math.round(this.#random.between(300, 1_000))
    const lockAtLeastFor = this.#random.chance(0.1) ? 100 : 0
    const name = this.#random.pick([...NAMES.plain, ...NAMES.paused])
    const configuration = { name, lockAtMostFor, lockAtLeastFor }
    let lock = await this.#acquire(provider, configuration)
    if (!lock) return
    const run = this.#ownerOf(lock)
    await sleep(this.#random.between(0, 30))
    if (this.#random.chance(0.3)) {
      this.#write({ type: 'extending', at: monotonic(), run, lockAtMostFor })
      lock = await this.#extended(lock, lockAtMostFor)
      if (lock) this.#write({ type: 'extended', at: monotonic(), run, until: monotonic() + lock.remaining() })
      await sleep(this.#random.between(0, 30))
    }
    this.#write({ type: 'ended', at: monotonic(), run })
    this.#write({ type: 'outcome', at: monotonic(), run, own: true })
    if (!lock || this.#random.chance(0.05)) return
    await lock.unlock(outcome === 'unlocked' ? {} : { outcome }).catch(() => undefined)
    this.#write({ type: 'unlocked', at: monotonic(), run })
  }

  /** Returns the lock if it was extended. */
  async #extended(lock: Lock, lockAtMostFor: number): Promise<Lock | undefined> {
    try {
      await lock.extend(lockAtMostFor)
      return lock
    } catch {
      return undefined
    }
  }

  /** By the executor, which releases it. */
  async #execute({ provider, outcome }: Worker): Promise<void> {
    if (outcome === 'unlocked') return
    const configuration = {
      name: this.#random.pick(NAMES.plain),
      lockAtMostFor: 600,
      keepAlive: this.#random.chance(0.3),
    }
    const asked = monotonic()
    let run: string | undefined
    const task = async ({ lock }: core.TaskContext): Promise<void> => {
      run = this.#acquired(configuration, asked, lock)
      await sleep(this.#random.between(0, 30))
      this.#write({ type: 'ended', at: monotonic(), run })
      if (outcome === 'failed') throw new Error('as it should')
    }
    const executor = new this.#core.LockingTaskExecutor(provider)
    try {
      const { executed } = await executor.executeWithLock(configuration, task)
      if (!executed)
        this.#write({ type: 'refused', at: monotonic(), asked, name: configuration.name, reason: 'held' })
    } catch {
      // Its own, or that the answer came too late.
    }
    if (run === undefined) return
    this.#write({ type: 'outcome', at: monotonic(), run, own: true })
    this.#write({ type: 'unlocked', at: monotonic(), run })
  }

  async #slot({ provider, outcome }: Worker): Promise<void> {
    const slot = Math.floor(Date.now() / SLOT) * SLOT
    const name = this.#random.pick(NAMES.slot)
    const lock = await this.#acquire(provider, { name, lockAtMostFor: 700, slot })
    if (!lock) return
    const run = this.#ownerOf(lock)
    this.#write({ type: 'slot', at: monotonic(), run, name, slot })
    await sleep(this.#random.between(0, 20))
    this.#write({ type: 'ended', at: monotonic(), run })
    this.#write({ type: 'outcome', at: monotonic(), run, own: true })
    if (this.#random.chance(0.05)) return
    await lock.unlock(outcome === 'unlocked' ? {} : { outcome }).catch(() => undefined)
    this.#write({ type: 'unlocked', at: monotonic(), run })
  }

  async #pause(provider: Provider): Promise<void> {
    const asked = monotonic()
    const name = this.#random.pick(NAMES.paused)
    const pauseFor = 400
    const run = `${this.order.version} pauses at ${asked.toFixed(3)}`
    if (!(await operations(provider).pause(name, this.#pauseOptions(pauseFor)))) return
    this.#write({ type: 'paused', at: monotonic(), asked, run, name, until: asked + pauseFor })
  }

  #pauseOptions(duration: number): Parameters<Operations['pause']>[1] {
    const reason = 'a test'
    const pausedBy = this.order.version
    return this.#isFirst ? ({ reason, for: duration, by: pausedBy } as never) : { reason, duration, pausedBy }
  }

  async #resume(provider: Provider): Promise<void> {
    const from = monotonic()
    const name = this.#random.pick(NAMES.paused)
    this.#write({ type: 'resuming', at: from, name })
    if (await operations(provider).resume(name)) this.#write({ type: 'resumed', at: monotonic(), name, from })
  }

  async #read(provider: Provider, knowsOutcomes: boolean): Promise<void> {
    for (const row of await operations(provider).list()) {
      if (row.name.startsWith('own-')) continue
      const at = monotonic()
      this.#write({ type: 'read', at, ...takenFor(row) })
      for (const what of misreadings(row, knowsOutcomes))
        this.#write({ type: 'misread', at, what: `${this.order.version}: ${what}: ${JSON.stringify(row)}` })
    }
  }

  async #acquire(provider: Provider, configuration: Configuration): Promise<Lock | undefined> {
    const asked = monotonic()
    try {
      const lock = await provider.lock(configuration)
      if (lock) this.#acquired(configuration, asked, lock)
      else if (configuration.slot === undefined)
        this.#write({ type: 'refused', at: monotonic(), asked, name: configuration.name, reason: 'held' })
      return lock
    } catch (error) {
      this.#write({ type: 'failed', at: monotonic(), asked, name: configuration.name, error: String(error) })
      return undefined
    }
  }

  #acquired(
    { name, lockAtMostFor, lockAtLeastFor = 0 }: Configuration,
    asked: number,
    lock: core.ActiveLock,
  ): string {
    const at = monotonic()
    const run = this.#ownerOf(lock)
    const [until, notBefore] = [at + lock.remaining(), asked + lockAtLeastFor]
    this.#write({ type: 'acquired', at, asked, run, name, until, lockAtMostFor, notBefore })
    return run
  }

  /** As the row has it. */
  #ownerOf(lock: core.ActiveLock): string {
    const acquisition = this.#acquisitionOf?.(lock)
    if (acquisition) {
      const { row, lockedBy } = acquisition as { row?: { lockedBy: string }; lockedBy?: string }
      return String(lockedBy ?? row?.lockedBy)
    }
    return (lock as unknown as { acquisition: { holder: { lockedBy: string } } }).acquisition.holder.lockedBy
  }

  /** Before the first release, some names were others. */
  get #isFirst(): boolean {
    return !this.#acquisitionOf
  }
}

type Provider = ReturnType<typeof typeorm.typeOrmLockProvider>
type Operations = Pick<Provider['table'], 'list' | 'pause' | 'resume'>

/** Released versions have these methods on the provider itself, under other names. */
function operations(provider: Provider): Operations {
  const { table } = provider as Partial<Provider>
  if (table) return table
  const released = provider as unknown as {
    listLocks: Operations['list']
    pauseLock: Operations['pause']
    resumeLock: Operations['resume']
  }
  return {
    list: () => released.listLocks(),
    pause: (name, options) => released.pauseLock(name, options),
    resume: (lock) => released.resumeLock(lock),
  }
}

type Lock = NonNullable<Awaited<ReturnType<Provider['lock']>>>

interface Worker {
  readonly provider: Provider
  readonly outcome: (typeof OUTCOMES)[number]
}

interface Configuration {
  readonly name: string
  readonly lockAtMostFor: number
  readonly lockAtLeastFor?: number
  readonly slot?: number
}

async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2] ?? '') as InstanceOrder
  const dataSource = await new DataSource(dataSourceOptions(order.connection)).initialize()
  await new Instance(order, dataSource).run()
  await dataSource.destroy()
}

void main()
