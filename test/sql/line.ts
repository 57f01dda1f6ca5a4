import { DriverError } from '../../src/sql/internal'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { type StatementSender } from '../statement-sender'

/** The line to a real database. It can be cut, before or after a statement was delivered, or stall. */
export class Line implements StatementSender {
  /** What becomes of the next writes. */
  state: 'up' | 'no connection' | 'request lost' | 'answer lost' = 'up'
  /** Each statement waits for it. */
  gate: { writes?: Promise<unknown>; reads?: Promise<unknown> } = {}
  /** When writes were sent. */
  readonly sent: number[] = []
  /** How many were under way at the same time, at most. */
  most = 0
  readonly #lost: (() => Promise<number>)[] = []
  #underWay = 0

  constructor(private readonly sql: StatementSender) {}

  readonly query: StatementSender['query'] = async (...all) => {
    await this.gate.reads
    return this.sql.query(...all)
  }

  readonly execute: StatementSender['execute'] = async (...all) => {
    const { state } = this
    if (state === 'no connection') throw new DriverError(undefined, 'ECONNREFUSED', false)
    this.sent.push(performance.now())
    this.most = Math.max(this.most, ++this.#underWay)
    try {
      await this.gate.writes
      if (state === 'request lost') this.#lost.push(() => this.sql.execute(...all))
      else {
        const changed = await this.sql.execute(...all)
        if (state === 'up') return changed
      }
      throw new DriverError(undefined, 'ECONNRESET')
    } finally {
      this.#underWay--
    }
  }

  /** Lets them wait until the gate is resolved. */
  stall(what: 'writes' | 'reads') {
    const gate = promiseWithResolvers()
    this.gate[what] = gate.promise
    return gate
  }

  /** A server that was slow gets the requests of clients that are gone. */
  async deliverLost(): Promise<void> {
    for (const send of this.#lost.splice(0)) await send()
  }
}
