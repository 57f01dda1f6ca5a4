import type { Answer, Request } from './client-fake'

/**
 * Not @google-cloud/spanner: its shape for TypeORM's `driver` option, which knows no SQL and answers as the test says.
 * Results and errors are as the real client was seen to give them for Spanner's emulator.
 * A request is by a read of the database itself, a transaction that was begun for it, or a change of the schema.
 */
export function fakeSpannerClient(answer: (request: Request) => Answer) {
  const answered = (request: Request): Promise<unknown> => {
    const said = answer(request)
    if ('code' in said)
      return Promise.reject(
        Object.assign(new Error(said.message), { code: Number(said.code), details: said.message }),
      )
    return Promise.resolve('rows' in said ? [said.rows, {}] : [[], { rowCountExact: String(said.changed) }])
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
  return {
    Spanner: class {
      instance() {
        return { database: () => database }
      }
    },
  }
}
