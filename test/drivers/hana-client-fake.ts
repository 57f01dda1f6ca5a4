/** What the fake says to one statement: rows of a query, a count of changed rows, or an error with HANA's number. */
export type HanaAnswer =
  { rows: Record<string, unknown>[] } | { changed: number } | { code: number; message: string }

export interface HanaRequest {
  readonly text: string
  readonly values: readonly unknown[]
  readonly autoCommit: boolean
}

/** What TypeORM asks when it connects. */
const OF_THE_START = {
  '"VERSION"': { version: '4.00.000', database: 'ANY' },
  'CURRENT_SCHEMA AS': { schemaName: 'ANY' },
}

/**
 * Not @sap/hana-client: its shape for TypeORM's `driver` option, which knows no SQL and answers as the test says. A query
 * gives rows, a change gives their number: https://help.sap.com/docs/hana-cloud/client-interface-programming-reference/connection-exec.
 * Errors have the number and an SQLSTATE, as the real client was seen to give them.
 */
export function fakeHanaClient(answer: (request: HanaRequest) => HanaAnswer) {
  type Callback = (error: unknown, result?: unknown) => void
  const connection = () => {
    let autoCommit = true
    return {
      setAutoCommit: (on: boolean) => {
        autoCommit = on
      },
      exec: (text: string, ...rest: unknown[]) => {
        const callback = rest.at(-1) as Callback
        const values = Array.isArray(rest[0]) ? (rest[0] as unknown[]) : []
        const known = Object.entries(OF_THE_START).find(([part]) => text.includes(part))
        const answered = known ? { rows: [known[1]] } : answer({ text, values, autoCommit })
        if ('code' in answered) {
          callback(Object.assign(new Error(answered.message), { code: answered.code, sqlState: 'HY000' }))
        } else callback(undefined, 'rows' in answered ? answered.rows : answered.changed)
      },
      disconnect: (callback: Callback) => {
        callback(undefined)
      },
    }
  }
  return {
    createPool: () => ({
      getConnection: (callback: Callback) => {
        callback(undefined, connection())
      },
      clear: (callback: Callback) => {
        callback(undefined)
      },
    }),
  }
}
