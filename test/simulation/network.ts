import { DriverError, type Row, type SqlExecutor, type Statement, type Values } from '../../src/sql'
import type { Database, Request, Transaction } from './database'
import type { Effect } from './model/compile'
import type { SimulatedProcess } from './simulated-process'
import type { World } from './world'

/** How bad the network is: how many of a thousand messages. */
export interface NetworkQuality {
  /** In milliseconds, one way. */
  readonly latency: number
  readonly late: number
  readonly lost: number
  readonly cut: number
}

/** After this many milliseconds at most a connection tells that nobody is at its other end… */
const DEAD_CONNECTION = 12_000
/** …unless it tells so only after a quarter of an hour, as TCP does by itself. */
const SILENT_CONNECTION = 900_000
/** The longest time that a late message takes. */
const VERY_LATE = 15_000

/** The connections of one process to the database. */
export class SimulatedSqlExecutor implements SqlExecutor {
  /** How bad it is just now. */
  quality: NetworkQuality

  constructor(
    private readonly process: SimulatedProcess,
    private readonly database: Database,
    quality: NetworkQuality,
    private readonly transaction?: Transaction,
  ) {
    this.quality = quality
  }

  async execute(statement: Statement, values: Values): Promise<number> {
    return (await this.#send(statement, values)).changes.length
  }

  async query(statement: Statement, values: Values): Promise<readonly Row[]> {
    return (await this.#send(statement, values)).rows
  }

  get #world(): World {
    return this.process.world
  }

  #delay(): number {
    const { latency, late } = this.quality
    const { random } = this.process
    const usual = latency * (0.5 + random.next())
    return late > 0 && random.chance(late / 1_000) ? usual + random.next() ** 2 * VERY_LATE : usual
  }

  #untilCut(): number {
    const { random } = this.process
    // A transaction of the application has a time limit of its own.
    return !this.transaction && random.chance(0.2) ? SILENT_CONNECTION : random.next() * DEAD_CONNECTION
  }

  #send(statement: Statement, values: Values): Promise<Effect> {
    const { process, database, transaction } = this
    const { random } = process
    const world = this.#world
    return new Promise((resolve, reject) => {
      const fail = (pause: number, why: string): void => {
        world.at(pause, process, 'message', () => {
          reject(new DriverError(undefined, why))
        })
      }
      const { lost, cut } = this.quality
      const isCutOff = (): boolean => process.cutOffUntil > world.now
      const isLost = (): boolean => isCutOff() || (lost > 0 && random.chance(lost / 1_000))
      const request: Request = {
        process,
        statement,
        values,
        transaction,
        respond: (answer) => {
          if (process.isDead || isLost()) {
            database.answered(request)
            fail(this.#untilCut(), 'the answer was lost')
            return
          }
          world.at(this.#delay(), process, 'message', () => {
            const isOn = this.database.answered(request)
            if (answer instanceof DriverError) reject(answer)
            else if (isOn) resolve(answer)
            // The server crashed meanwhile, and the connection with it.
            else reject(new DriverError(undefined, 'the connection was cut'))
          })
        },
      }
      if (isLost()) {
        fail(this.#untilCut(), 'the request was lost')
        return
      }
      const delay = this.#delay()
      // Who sent it hears that the connection is gone, and it arrives all the same.
      if (cut > 0 && random.chance(cut / 1_000)) fail(random.next() * 2 * delay, 'the connection was cut')
      world.at(delay, undefined, 'message', () => {
        database.arrive(request)
      })
    })
  }
}
