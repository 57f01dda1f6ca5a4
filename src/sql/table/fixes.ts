import { NEVER_ACQUIRED } from '../../core/internal'
import type { Dialect } from '../dialects'
import { render } from '../sql'
import { COLUMNS, columnType, tableDefinition } from './definition'
import type { LockColumn, TableSql } from '../names'

// SQL that repairs a lock table, for people to read and run; this library never runs it.

const NEVER = `'${new Date(NEVER_ACQUIRED).toISOString().slice(0, 19).replace('T', ' ')}'`
/** What an added column contains in existing rows, and what replaces null: the values of a lock that was never acquired. */
const NEVER_ACQUIRED_ROW = { lockUntil: NEVER, lockedAt: NEVER, lockedBy: `'-'` }

/** The present type of a column, and whether it may be null. */
interface Present {
  readonly type: string
  readonly nullable: boolean
}

export function createTable(dialect: Dialect, { names }: TableSql): string[] {
  const { create } = tableDefinition(dialect, names)
  const { createSchema } = dialect.table
  if (names.schema === undefined || !createSchema) return [create]
  return [createSchema(dialect.quote(names.schema)), create]
}

export function addColumn(dialect: Dialect, table: TableSql, column: LockColumn): string[] {
  if (column === 'name' || !dialect.table.alterColumn) return []
  const type = columnType(dialect, column)
  return [
    `alter table ${render(table.table)} add ${render(table[column])} ${type} default ${NEVER_ACQUIRED_ROW[column]} not null`,
  ]
}

/**
 * Returns the SQL that gives a column its type.
 *
 * @param zone the time zone of the sessions that use the table, if it matters
 */
export function changeColumn(
  dialect: Dialect,
  table: TableSql,
  column: LockColumn,
  now: Present,
  zone?: string,
): string[] {
  const { alterColumn, timeZone } = dialect.table
  if (!alterColumn) return []
  if (alterColumn === 'copy') return makeAnew(dialect, table)
  const [where, what] = [render(table.table), render(table[column])]
  return [
    ...(zone !== undefined && timeZone?.types.test(now.type) ? [timeZone.set(zone)] : []),
    ...(now.nullable && column !== 'name'
      ? [`update ${where} set ${what} = ${NEVER_ACQUIRED_ROW[column]} where ${what} is null`]
      : []),
    alterColumn(where, what, columnType(dialect, column), now),
  ]
}

/** Creates a unique index, because the table may already have another primary key. */
export function addKey(dialect: Dialect, table: TableSql, now: Present): string[] {
  const { alterColumn, notInKeys } = dialect.table
  if (!alterColumn) return []
  const index = dialect.quote(nameWith('_name', dialect, table))
  // https://www.sqlite.org/lang_createindex.html: the index has the schema, and the table has none.
  const where =
    alterColumn === 'copy'
      ? `${schemaOf(dialect, table)}${index} on ${dialect.quote(table.names.tableName)}`
      : `${index} on ${render(table.table)}`
  return [
    ...(notInKeys?.test(now.type) ? changeColumn(dialect, table, 'name', now) : []),
    `create unique index ${where} (${render(table.name)})`,
  ]
}

/** Replaces the table with a copy. No row may stop it, because a `drop` follows: of two rows for a lock, the longer lease counts. */
function makeAnew(dialect: Dialect, table: TableSql): string[] {
  const { names } = table
  const tableName = nameWith('_new', dialect, table)
  const columns = COLUMNS.map((column) => render(table[column]))
  const values = COLUMNS.map((column) =>
    column === 'name'
      ? render(table.name)
      : `coalesce(${render(table[column])}, ${NEVER_ACQUIRED_ROW[column]})`,
  )
  const old = render(table.table)
  const made = `${schemaOf(dialect, table)}${dialect.quote(tableName)}`
  return [
    tableDefinition(dialect, { ...names, tableName }).create,
    `insert or replace into ${made} (${columns.join(', ')}) select ${values.join(', ')} from ${old} where ${render(table.name)} is not null order by ${render(table.lockUntil)}`,
    `drop table ${old}`,
    `alter table ${made} rename to ${dialect.quote(names.tableName)}`,
  ]
}

function schemaOf(dialect: Dialect, { names: { schema } }: TableSql): string {
  return schema === undefined ? '' : `${dialect.quote(schema)}.`
}

/** Shortens the table's name to fit the suffix, because it may already be as long as names can be. */
function nameWith(suffix: string, { longestIdentifier }: Dialect, { names }: TableSql): string {
  const letters = Array.from(names.tableName)
  while (Buffer.byteLength(letters.join('') + suffix) > longestIdentifier) letters.pop()
  return letters.join('') + suffix
}
