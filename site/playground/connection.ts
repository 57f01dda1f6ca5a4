import { drivers, sqlClient } from 'shedlock-orm/drivers'
import type { SqlClient, StatementResult } from 'shedlock-orm/sql'

// A connection to the database in the other worker.

type Value = string | number | null

export interface Statement {
  readonly id: number
  readonly text: string
  readonly values: Value[]
}

export interface Answer {
  readonly id: number
  readonly result?: StatementResult
  readonly error?: string
}

const answered = new Map<number, (answer: Answer) => void>()
let port: MessagePort | undefined
let statements = 0

/** @param whenAwake calls back when the process can receive an answer */
export function connect(database: MessagePort, whenAwake: (callback: () => void) => void): void {
  port = database
  port.onmessage = ({ data: answer }: MessageEvent<Answer>) => {
    whenAwake(() => answered.get(answer.id)?.(answer))
  }
}

export const client: SqlClient = sqlClient(drivers.sqlite, (text, values) => {
  const id = statements++
  return new Promise((resolve, reject) => {
    answered.set(id, ({ result, error }) => {
      answered.delete(id)
      if (result) resolve(result)
      else reject(new Error(error))
    })
    port?.postMessage({ id, text, values } satisfies Statement)
  })
})
