import { DriverError, type Sql } from '../../src/sql/internal'
import { type StatementSender } from '../statement-sender'

/**
 * What becomes of a statement on its way: `late` keeps it from the database until it is delivered by hand, so that whoever
 * sent it hears nothing before; `cut off` too, but its sender hears at once that the connection has failed.
 */
type Delivery = 'in time' | 'answer lost' | 'cut off' | 'late'

/** SQL Server's are queries as well, whose rows tell what they changed. */
export function isWrite({ pieces }: Sql): boolean {
  return /\b(insert|update) /.test(pieces.join('?'))
}

/** A real SQL executor behind a bad network: one statement at a time can be postponed, or its answer lost. */
export class PostalSender implements StatementSender {
  /** How many changing statements were sent, delivered or not. */
  sent = 0
  readonly #sql: StatementSender
  readonly #postponed: (() => Promise<void>)[] = []
  #next: Delivery = 'in time'

  constructor(sql: StatementSender) {
    this.#sql = sql
  }

  /** For the next statement that changes a row; those after it arrive in time. */
  set next(delivery: Delivery) {
    this.#next = delivery
  }

  // What is on its way cannot be taken back, so the attempt is not passed on.
  readonly query: StatementSender['query'] = (statement, values) => {
    const send = () => this.#sql.query(statement, values)
    return isWrite(statement) ? this.#send(send) : send()
  }

  readonly execute: StatementSender['execute'] = (statement, values) =>
    this.#send(() => this.#sql.execute(statement, values))

  /** Delivers what is late, in the order in which it was sent; resolves when the database has answered all. */
  async deliver(): Promise<void> {
    for (const send of this.#postponed.splice(0)) await send()
  }

  async #send<T>(work: () => Promise<T>): Promise<T> {
    this.sent++
    const delivery = this.#next
    this.#next = 'in time'
    if (delivery === 'late') return this.#postpone(work)
    if (delivery === 'cut off') void this.#postpone(work)
    else {
      const answer = await work()
      if (delivery === 'in time') return answer
    }
    throw new DriverError(undefined, 'ECONNRESET')
  }

  #postpone<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      this.#postponed.push(async () => {
        const answer = work()
        resolve(answer)
        await answer.catch(() => undefined)
      })
    })
  }
}
