import { join } from 'node:path'
import { AppProcess, workerProgram } from '../app/app-process'
import { BREAKS, type BreakName } from '../app/breaks'
import type { Orm } from '../app/client'
import type { Random } from '../app/random'
import { canFakeTime } from '../fake-time'
import type { LockEvent } from '../history/events'
import { IMPATIENT_POSTGRES, type ChaosDatabase, type ConnectionWishes } from './chaos-database'

export interface WorkerPoolOptions {
  readonly size: number
  readonly names: readonly string[]
  readonly lockAtMostFor: number
  readonly timeLimit: number
  /** The time limit of every other pair of processes. It is so short that many answers arrive too late. */
  readonly shortTimeLimit: number
  readonly broken: BreakName | undefined
  /** The ORMs, which the processes use in turn. */
  readonly orms: readonly Orm[]
  /** The folder in which the processes write their histories. */
  readonly directory: string
}

/** Settings of a single process that differ from the others'. */
export interface WorkerWishes extends ConnectionWishes {
  readonly clock?: string
}

/** Keeps a fixed number of app instances running: each one that dies is replaced. */
export class WorkerPool {
  readonly #workers: AppProcess[] = []
  readonly #current: AppProcess[] = []
  readonly #program: string
  #stopping = false

  constructor(
    private readonly database: ChaosDatabase,
    private readonly random: Random,
    private readonly options: WorkerPoolOptions,
  ) {
    this.#program = workerProgram(options.broken && BREAKS[options.broken])
  }

  async start(): Promise<void> {
    for (let slot = 0; slot < this.options.size; slot++) this.#spawn(slot, {})
    await Promise.all(this.#current.map((worker) => worker.ready()))
  }

  any(): AppProcess {
    return this.random.pick(this.#current)
  }

  get all(): readonly AppProcess[] {
    return this.#current
  }

  /** Starts a process with these settings in place of a random one, which is stopped. */
  async replace(wishes: WorkerWishes): Promise<void> {
    const slot = Math.floor(this.random.next() * this.options.size)
    const old = this.#current[slot]
    this.#spawn(slot, wishes)
    await Promise.all([old?.stop(5_000), this.#current[slot]?.ready()])
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#current.map((worker) => worker.stop()))
  }

  events(): LockEvent[] {
    return this.#workers.flatMap((worker) => worker.events())
  }

  #spawn(slot: number, { clock, ...wishes }: WorkerWishes): void {
    const { names, lockAtMostFor, timeLimit, shortTimeLimit, broken, orms, directory } = this.options
    // If locks use the processes' clocks instead of the database's, those must differ, or the break would have no effect.
    const wrongClock = clock ?? (broken === 'clock' && canFakeTime && slot % 2 === 1 ? '+3h' : undefined)
    const orm = orms[slot % orms.length] ?? 'typeorm'
    const connection = this.database.connection(wishes)
    const isImpatient = orm === 'typeorm' && connection.dialect === 'postgres' && !wishes.serializable
    const name = String(this.#workers.length)
    const worker = new AppProcess(
      {
        process: name,
        file: join(directory, `${name}.jsonl`),
        seed: Math.floor(this.random.next() * 2 ** 32),
        orm,
        connection: { ...connection, ...(isImpatient && { driver: IMPATIENT_POSTGRES }) },
        timeLimit: Math.floor(slot / 2) % 2 === 0 ? shortTimeLimit : timeLimit,
        // SQLite has one connection, and so one transaction at a time.
        work: { kind: 'random', names, loops: this.database.dialect === 'sqlite' ? 1 : 2, lockAtMostFor },
      },
      wrongClock,
      this.#program,
    )
    this.#workers.push(worker)
    this.#current[slot] = worker
    void worker.exited().then(() => {
      if (!this.#stopping && this.#current[slot] === worker) this.#spawn(slot, {})
    })
  }
}
