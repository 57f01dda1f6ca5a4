import { randomUUID } from 'node:crypto'
import {
  createConnection,
  createPool,
  type Connection,
  type FieldPacket,
  type ResultSetHeader,
} from 'mysql2/promise'

/** What `@planetscale/database` sends, and what it needs of the answer. */
interface Request {
  readonly query: string
  readonly session: { readonly id: string } | null
}

/**
 * Stands in for PlanetScale's HTTP API, in front of a MySQL server: a `fetch` for `@planetscale/database`. Each session is a
 * connection while it has a transaction; other statements run in autocommit on a pool, as Vitess does.
 */
export function planetScale(url: string): { fetch: typeof fetch; close: () => Promise<void> } {
  const options = {
    uri: url,
    connectionLimit: 4,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    rowsAsArray: true,
  }
  const pool = createPool({ ...options, flags: ['-FOUND_ROWS'] })
  const transactions = new Map<string, Connection>()

  const execute = async ({ query, session }: Request): Promise<object> => {
    const id = session?.id ?? randomUUID()
    if (query === 'BEGIN')
      transactions.set(id, await createConnection({ ...options, flags: ['-FOUND_ROWS'] }))
    const connection = transactions.get(id)
    try {
      const [result, fields] = await (connection ?? pool).query(query)
      if (/^(COMMIT|ROLLBACK)$/.test(query)) {
        transactions.delete(id)
        await connection?.end()
      }
      return { session: { id }, result: encoded(result as unknown[][] | ResultSetHeader, fields) }
    } catch (error) {
      const { message, errno, sqlState } = error as Error & { errno?: number; sqlState?: string }
      if (sqlState === undefined) throw error
      const text = `target: test.-.primary: vttablet: rpc error: code = Unknown desc = ${message} (errno ${errno ?? 0}) (sqlstate ${sqlState})`
      return { session: { id }, error: { message: text, code: 'UNKNOWN' } }
    }
  }

  return {
    fetch: async (_, init) => Response.json(await execute(JSON.parse(init?.body as string) as Request)),
    close: async () => {
      await Promise.all([pool.end(), ...[...transactions.values()].map((connection) => connection.end())])
    },
  }
}

/** Writes a result as Vitess does: each value as text, by its length. */
function encoded(result: unknown[][] | ResultSetHeader, fields: FieldPacket[] | undefined): object {
  if (!Array.isArray(result))
    return { rowsAffected: String(result.affectedRows), insertId: String(result.insertId) }
  const rows = result.map((row) => {
    const values = row.map((value) => (value === null ? null : Buffer.from(String(value as string | number))))
    return {
      lengths: values.map((value) => String(value?.length ?? -1)),
      values: Buffer.concat(values.filter((value) => value !== null)).toString('base64'),
    }
  })
  return {
    fields: (fields ?? []).map(({ name, columnType }) => ({
      name,
      type: TYPES[columnType ?? -1] ?? 'VARCHAR',
    })),
    rows,
  }
}

/** Vitess's names for MySQL's types of columns. */
const TYPES: Readonly<Record<number, string>> = {
  1: 'INT8',
  2: 'INT16',
  3: 'INT32',
  4: 'FLOAT32',
  5: 'FLOAT64',
  8: 'INT64',
  9: 'INT24',
  10: 'DATE',
  11: 'TIME',
  12: 'DATETIME',
  246: 'DECIMAL',
  253: 'VARCHAR',
  254: 'CHAR',
  252: 'TEXT',
  7: 'TIMESTAMP',
  6: 'NULL',
}
