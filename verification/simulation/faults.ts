import { Random } from '../workers/random'
import type { Database } from './database'
import type { Instance } from './instance'
import type { NetworkQuality } from './network'
import { nameOf, type Fault, type Plan } from './plan'
import type { World } from './world'

/** In milliseconds, how long an operator pauses a job if the pause is not ended earlier. */
const PAUSE = 30_000

/** Starts the processes of a plan and injects its faults. */
export class Faults {
  /** All instances that were ever started. */
  readonly instances: Instance[] = []
  readonly #alive: Instance[] = []
  readonly #random: Random
  #isOver = false

  constructor(
    private readonly world: World,
    private readonly database: Database,
    private readonly plan: Plan,
    private readonly start: (name: string) => Instance,
  ) {
    this.#random = new Random(plan.seed + 2)
    for (let index = 0; index < plan.processes; index++) this.#begin(index)
    for (const fault of plan.faults) {
      world.at((fault.at / 1_000) * plan.duration, undefined, 'other', () => {
        if (!this.#isOver) this.#strike(fault)
      })
    }
  }

  /** Ends all faults. From now on nothing goes wrong. */
  end(): void {
    this.#isOver = true
    this.world.trace('!', 'the faults are over')
    this.database.conflicts = 0
    this.database.busy = 0
    this.database.isReadOnly = false
    for (const { sql, process } of this.#alive) {
      sql.quality = this.#faultless
      process.cutOffUntil = 0
      process.wallOffset = 0
    }
    // Shut one instance down while there is still something to clean up.
    this.#shutDown(this.#alive[0])
  }

  get #faultless(): NetworkQuality {
    return { latency: this.plan.latency, late: 0, lost: 0, cut: 0 }
  }

  shutDown(): void {
    for (const instance of this.#alive.slice(1)) this.#shutDown(instance)
  }

  #shutDown(instance: Instance | undefined): void {
    if (instance) this.world.at(0, instance.process, 'other', () => void instance.shutDown())
  }

  #begin(index: number, generation = 0): void {
    const name = `${String.fromCharCode(65 + index)}${generation === 0 ? '' : generation}`
    const instance = this.start(name)
    this.world.trace(name, 'starts')
    this.instances.push(instance)
    this.#alive[index] = instance
    if (this.#isOver) instance.sql.quality = this.#faultless
  }

  #restart(index: number, pause: number): void {
    const before = this.#alive[index]
    const generation = this.instances.length
    this.world.at(pause, undefined, 'other', () => {
      if (this.#alive[index] === before) this.#begin(index, generation)
    })
  }

  #strike({ kind, who, length }: Fault): void {
    const { world, database } = this
    const index = who % this.plan.processes
    const instance = this.#alive[index]
    if (!instance || instance.process.isStopping || instance.process.isDead) return
    const { process } = instance
    const left = this.plan.duration - world.now
    const during = Math.min(length, left)
    const strikes: Readonly<Record<Fault['kind'], () => void>> = {
      crash: () => {
        world.trace(process.name, 'crashes')
        process.isDead = true
        database.forgetTransactions(process, this.#random.next() * 3_000)
        this.#restart(index, during)
      },
      pause: () => {
        world.trace(process.name, `is suspended for ${during} ms`)
        process.suspend(during)
      },
      'cut off': () => {
        world.trace(process.name, `is cut off for ${during} ms`)
        process.cutOffUntil = world.now + during
      },
      'shut down': () => {
        this.#shutDown(instance)
        this.#restart(index, during)
      },
      'wall clock': () => {
        world.trace(process.name, `has a clock that is wrong by ${(who - 3) * length * 100} ms`)
        process.wallOffset = (who - 3) * length * 100
        process.hadWrongClock = true
      },
      stall: () => database.stall(during),
      restart: () => database.restart(during),
      'read only': () => {
        world.trace('database', `is read only for ${during} ms`)
        database.isReadOnly = true
        world.at(during, undefined, 'other', () => (database.isReadOnly = false))
      },
      'clock stops': () => database.stopClock(during),
      'clock back': () => database.setClockBack(length),
      'job paused': () => this.#pauseJob(instance, who, during),
      'rows deleted': () => this.#deleteRows(),
      network: () => {
        instance.sql.quality = { ...this.#faultless, late: 300, lost: 100, cut: 100 }
        world.at(during, undefined, 'other', () => {
          instance.sql.quality = this.#isOver ? this.#faultless : this.plan
        })
      },
    }
    strikes[kind]()
  }

  /** Lets an operator pause a job and resume it after a while. */
  #pauseJob(instance: Instance, who: number, length: number): void {
    const { process, provider } = instance
    const job = this.plan.jobs.findIndex(
      ({ kind }, index) => kind === 'plain' && index >= who % this.plan.jobs.length,
    )
    if (job < 0) return
    const name = nameOf(job)
    const operate = async (): Promise<void> => {
      instance.pending++
      try {
        const pause = provider.table.pause(name, { duration: PAUSE, reason: 'paused by the operator' })
        const paused = await pause.finally(() => instance.pending--)
        this.world.trace(process.name, `${paused ? 'paused' : 'could not pause'} ${name}`)
        await process.sleep(length)
        if (!paused || process.isStopping) return
        const resumed = await provider.table.resume(name)
        this.world.trace(process.name, `${resumed ? 'resumed' : 'could not resume'} ${name}`)
      } catch (error) {
        this.world.trace(process.name, `could not pause ${name}: ${String(error)}`)
      }
    }
    this.world.at(0, process, 'other', () => {
      // The process may have been blocked until its shutdown, and a call to a drained provider would reopen it.
      if (!process.isStopping) void operate()
    })
  }

  /** Deletes the rows of free locks, as an operator might, and with them their tokens and slots. */
  #deleteRows(): void {
    const { table } = this.database
    for (const row of table.rows()) {
      const isPlain = this.plan.jobs.some(({ kind }, index) => kind === 'plain' && nameOf(index) === row.name)
      if (!isPlain || row.lock_until > this.database.now() || this.database.isPinned(row.name)) continue
      this.world.trace('database', `loses the row of ${row.name}`)
      this.database.deleteRow(row.name)
    }
  }
}
