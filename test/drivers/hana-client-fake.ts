import type { Answer, Request } from './client-fake'

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
export function fakeHanaClient(answer: (request: Request) => Answer) {
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
        const answered = known ? { rows: [known[1]] } : answer({ text, values, by: autoCommit })
        if ('code' in answered) {
          callback(
            Object.assign(new Error(answered.message), { code: Number(answered.code), sqlState: 'HY000' }),
          )
        } else callback(undefined, 'rows' in answered ? answered.rows : answered.changed)
      },
      disconnect: (callback: Callback) => callback(undefined),
    }
  }
  return {
    createPool: () => ({
      getConnection: (callback: Callback) => callback(undefined, connection()),
      clear: (callback: Callback) => callback(undefined),
    }),
  }
}
