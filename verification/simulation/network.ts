import { DriverError, type SqlClient, type SqlSession } from '../../src/sql/session'
import type { Sql, LockValues } from '../../src/sql/sql'
import type { Database, Request, Transaction } from './database'
import type { Effect } from './model/table'
import type { SimulatedProcess } from './simulated-process'
import type { World } from './world'

/** How bad the network is: how many of a thousand messages are late or lost, or have their connection cut. */
export interface NetworkQuality {
  /** In milliseconds, one way. */
  readonly latency: number
  readonly late: number
  readonly lost: number
  readonly cut: number
}

/** In milliseconds, how long most dead connections take at most to report an error. */
const DEAD_CONNECTION = 12_000
/** In milliseconds, how long the other dead connections take: a quarter of an hour, as TCP does by itself. */
const SILENT_CONNECTION = 900_000
/** The longest time that a late message takes. */
const VERY_LATE = 15_000

/** The connections of one process to the database. */
export class SimulatedSqlClient implements SqlClient {
  /** The present quality of its network. */
  quality: NetworkQuality
  /** Whether its sessions can be ended. */
  readonly #endsConnections: boolean

  constructor(
    private readonly process: SimulatedProcess,
    private readonly database: Database,
    quality: NetworkQuality,
    private readonly transaction?: Transaction,
  ) {
    this.quality = quality
    this.#endsConnections = process.random.chance(0.5)
    if (!transaction && process.random.chance(0.5)) this.open = () => this.#openOwn()
  }

  /** Half of the clients open connections of the lock's own. */
  readonly open?: () => Promise<SqlSession>

  #openOwn(): Promise<SqlSession> {
    if (this.process.random.chance(0.02))
      return Promise.reject(new DriverError(undefined, 'there is no room', false, true))
    return this.connect(true)
  }

  connect(isOwn = false): Promise<SqlSession> {
    let isBack = false
    let isResting = false
    let underWay = 0
    const fail = (what: string): void => {
      this.#world.fail('each session goes back exactly once', `${this.process.name} ${what}`)
    }
    const giveBack = (): void => {
      if (isBack) fail('gave a session back twice')
      isBack = true
    }
    return Promise.resolve({
      execute: async (statement: Sql, values: LockValues) => {
        if (isBack || isResting) fail('used a session that it had given back')
        underWay++
        try {
          const { rows, changes } = await this.#transmit(statement, values)
          return { rows, changed: changes.length }
        } finally {
          underWay--
          // The next statement follows at once, if there is one. The session of a transaction is not the lock's.
          if (!this.transaction)
            this.#world.at(1, this.process, 'other', () => {
              if (!isBack && !isResting && underWay === 0) fail('kept a session whose statement was answered')
            })
        }
      },
      release: giveBack,
      ...(isOwn && {
        rest: () => (isResting = true),
        wake: () => {
          isResting = false
          return Promise.resolve(true)
        },
      }),
      ...(this.#endsConnections && { end: giveBack }),
    })
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
    // Transactions of the application have a time limit of their own, so they never wait that long.
    return !this.transaction && random.chance(0.2) ? SILENT_CONNECTION : random.next() * DEAD_CONNECTION
  }

  #transmit(statement: Sql, values: LockValues): Promise<Effect> {
    const { process, database, transaction } = this
    const { random } = process
    const world = this.#world
    return new Promise((resolve, reject) => {
      const fail = (pause: number, why: string): void => {
        world.at(pause, process, 'message', () => reject(new DriverError(undefined, why)))
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
            // The server has crashed meanwhile, which cut the connection.
            else reject(new DriverError(undefined, 'the connection was cut'))
          })
        },
      }
      if (isLost()) {
        fail(this.#untilCut(), 'the request was lost')
        return
      }
      const delay = this.#delay()
      // The sender gets an error because the connection is cut, but the statement still arrives.
      if (cut > 0 && random.chance(cut / 1_000)) fail(random.next() * 2 * delay, 'the connection was cut')
      world.at(delay, undefined, 'message', () => database.arrive(request))
    })
  }
}
