import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError } from '../../src/sql/internal'
import { type StatementSender } from '../statement-sender'

/** Ways in which a statement fails; `work` runs it on the real database. */
export const FAULTS = {
  'throws synchronously': () => {
    throw new TypeError('the client is broken')
  },
  'loses the connection before it is sent': () => Promise.reject(new DriverError(undefined, 'ECONNRESET')),
  'loses the connection after it is done': async (work) => {
    await work()
    throw new DriverError(undefined, 'ECONNRESET')
  },
  'is refused by the server': () => Promise.reject(new DriverError('53300', 'too many connections')),
  'is answered too late': async (work, tooLate) => {
    await sleep(tooLate)
    return work()
  },
  'fails too late': async (work, tooLate) => {
    await work()
    await sleep(tooLate)
    throw new DriverError(undefined, 'ETIMEDOUT')
  },
} as const satisfies Record<string, (work: () => Promise<unknown>, tooLate: number) => unknown>

export type Fault = keyof typeof FAULTS

/** A real SQL executor, whose statements fail while there is a fault. */
export class FaultySender implements StatementSender {
  fault: Fault | undefined
  readonly #sql: StatementSender
  readonly #tooLate: number
  readonly #unanswered = new Set<Promise<unknown>>()

  constructor(sql: StatementSender, tooLate: number) {
    this.#sql = sql
    this.#tooLate = tooLate
  }

  readonly execute: StatementSender['execute'] = (...all) => this.#run(() => this.#sql.execute(...all))
  readonly query: StatementSender['query'] = (...all) => this.#run(() => this.#sql.query(...all))

  /** Until the last answer has come that was too late. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#unanswered)
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    if (!this.fault) return work()
    const answer = FAULTS[this.fault](work, this.#tooLate) as Promise<T>
    this.#unanswered.add(answer)
    return answer
  }
}
