import { DriverError, type SqlClient, type SqlSession, type StatementResult } from '../src/sql/session'
import type { SqlValues } from '../src/sql/sql'
import { promiseWithResolvers } from './promise-with-resolvers'
import { sendTo } from './statement-sender'

type Send = () => Promise<StatementResult>

/**
 * What happens to a write: `request lost` reports a failure at once, and keeps the write until it is delivered by hand; `late` keeps
 * it too, and reports nothing before. A function decides about reads as well.
 */
export type Fault =
  | 'no connection'
  | 'request lost'
  | 'answer lost'
  | 'late'
  | ((send: Send, isWrite: boolean, values: SqlValues) => Promise<StatementResult>)

/** A real client behind an unreliable network. Each statement has a session of its own, which nobody can end. */
export class UnreliableClient implements SqlClient {
  /** What happens to statements until it is changed. */
  fault: Fault | undefined
  /** What happens to the next write instead. */
  next: Fault | undefined
  /** What statements wait for before they are sent. */
  gate: { writes?: Promise<unknown>; reads?: Promise<unknown> } = {}
  /** When each write was sent, delivered or not. */
  readonly sent: number[] = []
  /** The most writes that were under way at the same time. */
  most = 0
  #underWay = 0
  #writes = 0
  readonly #undelivered: (() => Promise<unknown>)[] = []
  readonly #session: SqlSession

  constructor(client: SqlClient) {
    this.#session = {
      execute: (statement, values, wants) => {
        const send = (): Promise<StatementResult> => sendTo(client, statement, values, wants)
        // On SQL Server, writes are queries whose rows contain what they changed.
        const isWrite = wants === 'changed' || /\b(insert|update) /.test(statement.pieces.join('?'))
        if (isWrite) return this.#write(send, values)
        return typeof this.fault === 'function' ? this.fault(send, false, values) : this.#read(send)
      },
      release: () => undefined,
    }
  }

  connect(): Promise<SqlSession> {
    return Promise.resolve(this.#session)
  }

  /** Makes statements wait until the gate that it returns is resolved. */
  stall(what: 'writes' | 'reads') {
    const gate = promiseWithResolvers()
    this.gate[what] = gate.promise
    return gate
  }

  /** Delivers what was lost or is late, in the order in which it was sent, and waits for the answers. */
  async deliver(): Promise<void> {
    for (const send of this.#undelivered.splice(0)) await send()
  }

  async #read(send: Send): Promise<StatementResult> {
    await this.gate.reads
    return send()
  }

  #write(send: Send, values: SqlValues): Promise<StatementResult> {
    const fault = this.next ?? this.fault
    this.next = undefined
    // On virtual time, a caller that never pauses would keep its test from ending: after an error most do, or else it hangs.
    if (++this.#writes > 6_000) return new Promise(() => undefined)
    if (this.#writes > 3_000) return Promise.reject(new DriverError(undefined, 'ECONNRESET'))
    if (fault === 'no connection') return Promise.reject(new DriverError(undefined, 'ECONNREFUSED', false))
    this.sent.push(performance.now())
    return typeof fault === 'function' ? fault(send, true, values) : this.#deliver(send, fault)
  }

  async #deliver(
    send: Send,
    fault: 'request lost' | 'answer lost' | 'late' | undefined,
  ): Promise<StatementResult> {
    this.most = Math.max(this.most, ++this.#underWay)
    try {
      await this.gate.writes
      if (fault === 'late') return await this.#postponed(send)
      if (fault === 'request lost') void this.#postponed(send)
      else {
        const answer = await send()
        if (!fault) return answer
      }
      throw new DriverError(undefined, 'ECONNRESET')
    } finally {
      this.#underWay--
    }
  }

  #postponed(send: Send): Promise<StatementResult> {
    return new Promise((resolve) => {
      this.#undelivered.push(async () => {
        const answer = send()
        resolve(answer)
        await answer.catch(() => undefined)
      })
    })
  }
}
