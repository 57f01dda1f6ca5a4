import type { Dialect } from '../dialect'
import { render } from '../sql'
import { COLUMNS, columnType, tableDefinition } from './definition'
import type { LockColumn, TableSql } from './names'

// SQL that repairs a lock table, for people to read and run; this library never runs it.

/** What an added column contains in existing rows: the values of a free lock. */
const FREE = { lockUntil: `'1970-01-01 00:00:00'`, lockedAt: `'1970-01-01 00:00:00'`, lockedBy: `'-'` }

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
    `alter table ${render(table.table)} add ${render(table[column])} ${type} default ${FREE[column]} not null`,
  ]
}

/**
 * Returns the SQL that gives a column its type.
 *
 * @param now its present type, and whether it may be null
 * @param zone the time zone of the sessions that use the table, if it matters
 */
export function changeColumn(
  dialect: Dialect,
  table: TableSql,
  column: LockColumn,
  now: { readonly type: string; readonly nullable: boolean },
  zone?: string,
): string[] {
  const { alterColumn, timeZone } = dialect.table
  if (!alterColumn) return []
  if (alterColumn === 'copy') return makeAnew(dialect, table)
  return [
    ...(zone !== undefined && timeZone?.types.test(now.type) ? [timeZone.set(zone)] : []),
    alterColumn(render(table.table), render(table[column]), columnType(dialect, column), now),
  ]
}

/** Creates a unique index, because the table may already have another primary key. */
export function addKey(dialect: Dialect, table: TableSql): string[] {
  if (!dialect.table.alterColumn) return []
  const index = dialect.quote(nameWith('_name', dialect, table))
  return [`create unique index ${index} on ${render(table.table)} (${render(table.name)})`]
}

/** Replaces the table with a copy. */
function makeAnew(dialect: Dialect, table: TableSql): string[] {
  const { names } = table
  const tableName = nameWith('_new', dialect, table)
  const schema = names.schema === undefined ? '' : `${dialect.quote(names.schema)}.`
  const columns = COLUMNS.map((column) => render(table[column])).join(', ')
  const old = render(table.table)
  const made = `${schema}${dialect.quote(tableName)}`
  return [
    tableDefinition(dialect, { ...names, tableName }).create,
    `insert into ${made} (${columns}) select ${columns} from ${old}`,
    `drop table ${old}`,
    `alter table ${made} rename to ${dialect.quote(names.tableName)}`,
  ]
}

/** Shortens the table's name to fit the suffix, because it may already be as long as names can be. */
function nameWith(suffix: string, { longestIdentifier }: Dialect, { names }: TableSql): string {
  const letters = Array.from(names.tableName)
  while (Buffer.byteLength(letters.join('') + suffix) > longestIdentifier) letters.pop()
  return letters.join('') + suffix
}
