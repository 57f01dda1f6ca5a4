import { createRequire } from 'node:module'
import type { DataSourceOptions } from 'typeorm'

/** What a fake client returns: rows of a query, a count of changed rows, or an error of the server. */
export type Answer =
  { rows: Record<string, unknown>[] } | { changed: number } | { code: string | number; message: string }

/** A statement that a fake client received. */
export interface Request {
  readonly text: string
  readonly values: unknown
  /** Whether it commits by itself, or what it is a part of. */
  readonly by: unknown
}

type Reply = (request: Request) => Answer
type Callback = (error: unknown, result?: unknown) => void
const { transformErr } = createRequire(__filename)('oracledb/lib/errors.js') as {
  transformErr: (error: Error) => Error
}

/** What TypeORM asks SAP HANA when it connects. */
const START_OF_HANA = {
  '"VERSION"': { version: '4.00.000', database: 'ANY' },
  'CURRENT_SCHEMA AS': { schemaName: 'ANY' },
}

/**
 * For databases without a server: options of a DataSource whose `driver` has the shape of the client, knows no SQL and returns these
 * answers. Results and errors are as the real clients were seen, or are documented, to return them.
 */
export const FAKE_CLIENTS = {
  /** https://help.sap.com/docs/hana-cloud/client-interface-programming-reference/connection-exec */
  hana: (reply: Reply): DataSourceOptions => {
    const connection = () => {
      let autoCommit = true
      return {
        setAutoCommit: (on: boolean) => (autoCommit = on),
        exec: (text: string, ...rest: unknown[]) => {
          const callback = rest.at(-1) as Callback
          const values = Array.isArray(rest[0]) ? (rest[0] as unknown[]) : []
          const known = Object.entries(START_OF_HANA).find(([part]) => text.includes(part))
          const answer = known ? { rows: [known[1]] } : reply({ text, values, by: autoCommit })
          if ('code' in answer) callback(failure(answer, { code: Number(answer.code), sqlState: 'HY000' }))
          else callback(undefined, 'rows' in answer ? answer.rows : answer.changed)
        },
        disconnect: (callback: Callback) => callback(undefined),
      }
    }
    const pool = {
      getConnection: (callback: Callback) => callback(undefined, connection()),
      clear: (callback: Callback) => callback(undefined),
    }
    return { type: 'sap', driver: { createPool: () => pool } }
  },

  /** The errors are made by oracledb's own code, which replaces some codes by its own, such as NJS-500. */
  oracle: (reply: Reply): DataSourceOptions => {
    const connection = {
      execute: (text: string, values: unknown, { autoCommit }: { autoCommit: boolean }) => {
        const answer = reply({ text, values, by: autoCommit })
        if (!('code' in answer))
          return Promise.resolve('changed' in answer ? { rowsAffected: answer.changed } : answer)
        const message = `${answer.code}: ${answer.message}`
        const errorNum = Number(/^ORA-(\d+)/.exec(message)?.[1])
        return Promise.reject(transformErr(failure({ message }, { errorNum, offset: 0 })))
      },
      close: () => Promise.resolve(),
    }
    const pool = {
      getConnection: (callback: Callback) => callback(undefined, connection),
      close: (callback: Callback) => callback(undefined),
    }
    const createPool = (_options: unknown, callback: Callback) => callback(undefined, pool)
    const driver = { OUT_FORMAT_OBJECT: 4002, createPool }
    return { type: 'oracle', database: 'any', schema: 'ANY', driver }
  },

  /** A request is by a read of the database itself, a transaction that was begun for it, or a change of the schema. */
  spanner: (reply: Reply): DataSourceOptions => {
    const answered = (request: Request): Promise<unknown> => {
      const answer = reply(request)
      if ('code' in answer)
        return Promise.reject(failure(answer, { code: Number(answer.code), details: answer.message }))
      return Promise.resolve(
        'rows' in answer ? [answer.rows, {}] : [[], { rowCountExact: String(answer.changed) }],
      )
    }
    const run =
      (by: 'read' | 'transaction') =>
      ({ sql, params = {} }: { sql: string; params?: Record<string, unknown> }) =>
        answered({ text: sql, values: params, by })
    const done = (): Promise<readonly unknown[]> => Promise.resolve([])
    const transaction = () => ({ begin: done, commit: done, rollback: done, run: run('transaction') })
    const session = { transaction: () => Promise.resolve(transaction()), delete: done }
    const database = {
      createSession: () => Promise.resolve([session]),
      run: run('read'),
      updateSchema: async (text: string) => {
        await answered({ text, values: {}, by: 'schema' })
        return [{ promise: done }]
      },
      close: () => undefined,
    }
    class Spanner {
      instance = () => ({ database: () => database })
    }
    return { type: 'spanner', driver: { Spanner } }
  },

  /** Rows and counts of a batch; errors have the server's number. */
  mssql: (reply: Reply): DataSourceOptions => {
    class ConnectionPool {
      on = () => undefined
      connect(callback: Callback): this {
        queueMicrotask(() => callback(undefined))
        return this
      }
      close = (callback: Callback) => callback(undefined)
    }
    class Request {
      readonly #values: Record<string, unknown> = {}
      input(name: string, value: unknown): void {
        this.#values[name] = value
      }
      query(text: string): Promise<object> {
        const answer = text.includes('SCHEMA_NAME')
          ? { rows: [{ schema_name: 'dbo' }] }
          : reply({ text, values: this.#values, by: 'batch' })
        if ('code' in answer)
          return Promise.reject(failure(answer, { code: 'EREQUEST', number: Number(answer.code) }))
        if ('changed' in answer)
          return Promise.resolve({ recordset: [{ changed: answer.changed }], rowsAffected: [0] })
        return Promise.resolve({ recordset: answer.rows, rowsAffected: [0] })
      }
    }
    const driver = { ConnectionPool, Request }
    return { type: 'mssql', database: 'any', schema: 'dbo', driver }
  },
}

function failure({ message }: { message: string }, properties: object): Error {
  return Object.assign(new Error(message), properties)
}
