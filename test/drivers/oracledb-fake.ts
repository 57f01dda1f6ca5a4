import { createRequire } from 'node:module'
import type { Answer, Request } from './client-fake'

const { transformErr } = createRequire(__filename)('oracledb/lib/errors.js') as {
  transformErr: (error: Error) => Error
}

/**
 * Not oracledb: its shape for TypeORM's `driver` option, which knows no SQL and answers as the test says. The results
 * are those that oracledb documents for `connection.execute()`; the errors are made by oracledb's own code.
 */
export function fakeOracledb(answer: (request: Request) => Answer) {
  const connection = {
    execute: (text: string, binds: unknown, { autoCommit }: { autoCommit: boolean }) => {
      const answered = answer({ text, values: binds, by: autoCommit })
      if ('code' in answered) return Promise.reject(serverError(`${answered.code}: ${answered.message}`))
      return Promise.resolve('changed' in answered ? { rowsAffected: answered.changed } : answered)
    },
    close: () => Promise.resolve(),
  }
  type Callback = (error: unknown, result?: unknown) => void
  const pool = {
    getConnection: (callback: Callback) => callback(undefined, connection),
    close: (callback: Callback) => callback(undefined),
  }
  return {
    OUT_FORMAT_OBJECT: 4002,
    createPool: (_options: unknown, callback: Callback) => callback(undefined, pool),
  }
}

/** `ORA-00001: …` as it comes out of the driver; some codes become one of the driver's own, such as NJS-500. */
function serverError(message: string): Error {
  const [, number] = /^ORA-(\d+)/.exec(message) ?? []
  return transformErr(Object.assign(new Error(message), { errorNum: Number(number), offset: 0 }))
}
