import type { Dialect } from '../dialect'
import { raw, sql } from '../sql'
import type { Attempt } from '../calls'
import { DriverError } from '../session'
import { describeTable } from './check'
import type { TableSql } from './names'
import { printable } from './printable'

const NOTHING = raw('null')

/** Where a lock table is. */
export interface Place {
  readonly dialect: string
  /** Its name or address, or the file of SQLite. */
  readonly server?: string | undefined
  readonly database?: string | undefined
  readonly schema?: string | undefined
  readonly table: string
}

/** Reads the place from the database, because it may depend on a search path, a default or a pooler. */
export async function placeOf(
  attempt: Pick<Attempt, 'query'>,
  dialect: Dialect,
  table: TableSql,
): Promise<Place> {
  const { database = NOTHING, schema = NOTHING } = dialect.table
  const { names } = table
  const location = sql`select ${database} as place_database, ${schema} as place_schema ${dialect.from ?? raw('')}`
  const [here = {}] = await attempt.query(location, {})
  const [column] = await describeTable(attempt, dialect, table)
  const [ownDatabase, ownSchema] = Object.values(here)
  return {
    dialect: dialect.name,
    server: await serverOf(attempt, dialect),
    database: text(ownDatabase),
    schema: names.schema ?? text(column?.['table_schema'] ?? ownSchema),
    table: names.tableName,
  }
}

/** Returns the server's own name; `undefined` if it does not report one. */
async function serverOf(
  attempt: Pick<Attempt, 'query'>,
  { table: { server = NOTHING }, from = raw('') }: Dialect,
): Promise<string | undefined> {
  try {
    const [row = {}] = await attempt.query(sql`select ${server} as place_server ${from}`, {})
    return text(Object.values(row)[0])
  } catch (error) {
    // Not every server that speaks the dialect knows its own name.
    if (error instanceof DriverError && error.code !== undefined) return undefined
    throw error
  }
}

/** @returns a description such as `table public.shedlock, database app, postgres at db-1` */
export function describePlace({ dialect, server, database, schema, table }: Place): string {
  const name = schema === undefined ? table : `${schema}.${table}`
  const inside = database === undefined ? '' : `, database ${database}`
  const at = server === undefined ? '' : ` at ${server}`
  return printable(`table ${name}${inside}, ${dialect}${at}`)
}

/** Drops an empty string, such as the file name of an in-memory database. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
