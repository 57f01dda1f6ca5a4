import { workerProgram, type AppProcess } from '../workers/app-process'
import { AppProcesses } from '../workers/app-processes'
import { BREAKS, type BreakName } from '../workers/breaks'
import type { Orm } from '../workers/client'
import type { Random } from '../workers/random'
import { canFakeTime } from '../../test/processes/fake-time'
import { IMPATIENT_POSTGRES, type ChaosDatabase, type ConnectionWishes } from './chaos-database'

/** The locks for which the processes compete. */
export const NAMES = ['guarded-1', 'guarded-2', 'plain-1', 'plain-2']
/** In milliseconds. */
export const LOCK_AT_MOST_FOR = 800
export const TIME_LIMIT = 1_000
/** The time limit of every other pair of processes. It is so short that many answers arrive too late. */
const SHORT_TIME_LIMIT = 150

export interface PoolOptions {
  readonly workers: number
  /** Of the first process. */
  readonly seed: number
  readonly orms: readonly Orm[]
  readonly broken: BreakName | undefined
}

/** Settings of a single process that differ from the others'. */
export interface WorkerWishes extends ConnectionWishes {
  readonly clock?: string
}

/** Keeps a fixed number of app instances running: each one that dies is replaced. */
export class WorkerPool extends AppProcesses {
  constructor(
    private readonly database: ChaosDatabase,
    private readonly random: Random,
    private readonly options: PoolOptions,
  ) {
    super(options.seed, workerProgram(options.broken && BREAKS[options.broken]))
    for (let place = 0; place < options.workers; place++) this.#spawn(place, {})
  }

  any(): AppProcess {
    return this.random.pick(this.current)
  }

  /** Starts a process with these settings in place of a random one, which is stopped. */
  async replace(wishes: WorkerWishes): Promise<void> {
    const place = Math.floor(this.random.next() * this.current.length)
    const old = this.current[place]
    await Promise.all([this.#spawn(place, wishes).ready(), old?.stop(5_000)])
  }

  #spawn(place: number, { clock, ...wishes }: WorkerWishes): AppProcess {
    const { broken, orms } = this.options
    // If locks use the processes' clocks instead of the database's, those must differ, or the break would have no effect.
    const wrongClock = broken === 'clock' && canFakeTime && place % 2 === 1 ? '+3h' : undefined
    const orm = orms[place % orms.length] ?? 'typeorm'
    const connection = this.database.connection(wishes)
    const isImpatient = orm === 'typeorm' && connection.dialect === 'postgres' && !wishes.serializable
    // SQLite has one connection, and so one transaction at a time.
    const loops = connection.dialect === 'sqlite' ? 1 : 2
    return this.start(
      {
        orm,
        connection: { ...connection, ...(isImpatient && { driver: IMPATIENT_POSTGRES }) },
        timeLimit: Math.floor(place / 2) % 2 === 0 ? SHORT_TIME_LIMIT : TIME_LIMIT,
        work: { kind: 'random', names: NAMES, loops, lockAtMostFor: LOCK_AT_MOST_FOR },
      },
      { place, clock: clock ?? wrongClock, again: () => this.#spawn(place, {}) },
    )
  }
}
