/** What the fake says to one statement: rows of a query, a count of changed rows, or an error with gRPC's status code. */
export type SpannerAnswer =
  { rows: Record<string, unknown>[] } | { changed: number } | { code: number; details: string }

export interface SpannerRequest {
  readonly text: string
  readonly values: Readonly<Record<string, unknown>>
  /** A read of the database itself, a transaction that was begun for it, or a change of the schema. */
  readonly by: 'read' | 'transaction' | 'schema'
}

/**
 * Not @google-cloud/spanner: its shape for TypeORM's `driver` option, which knows no SQL and answers as the test says.
 * Results and errors are as the real client was seen to give them for Spanner's emulator.
 */
export function fakeSpannerClient(answer: (request: SpannerRequest) => SpannerAnswer) {
  const answered = (request: SpannerRequest): Promise<unknown> => {
    const said = answer(request)
    if ('code' in said) return Promise.reject(Object.assign(new Error(said.details), said))
    return Promise.resolve('rows' in said ? [said.rows, {}] : [[], { rowCountExact: String(said.changed) }])
  }
  const run =
    (by: SpannerRequest['by']) =>
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
