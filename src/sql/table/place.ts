import { printable } from '../../core/internal'
import { raw, sql } from '../sql'
import type { Inspected } from '../lock-table'
import { describeTable } from './check'

const NOTHING = raw('null')

/** Where a lock table is. */
export interface Place {
  readonly dialect: string
  /** The host, if it is known. */
  readonly server?: string | undefined
  /** Of SQLite the file. */
  readonly database?: string | undefined
  readonly schema?: string | undefined
  readonly table: string
}

/** Reads the place from the database, because it may depend on a search path, a default or a pooler. */
export async function readPlace(inspected: Inspected): Promise<Place> {
  const { attempt, dialect } = inspected
  const { database = NOTHING, schema = NOTHING } = dialect.table
  const { names } = inspected.table
  const location = sql`select ${database} as place_database, ${schema} as place_schema ${dialect.from ?? raw('')}`
  const [here = {}] = await attempt.query(location)
  const [column] = dialect.table.describe ? await describeTable(inspected) : []
  const [ownDatabase, ownSchema] = Object.values(here)
  return {
    dialect: dialect.name,
    database: text(ownDatabase),
    schema: names.schema ?? text(column?.['table_schema'] ?? attempt.ownSchema ?? ownSchema),
    table: names.tableName,
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
