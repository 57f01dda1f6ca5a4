import type { Dialect } from './dialect'
import { render } from './sql'
import { COLUMNS, columnType, tableDefinition } from './table-definition'
import type { LockColumn, TableSql } from './table-names'

// SQL that repairs a lock table, for people to read and run; this library never runs it.

/** What an added column contains in existing rows: the values of a free lock. */
const FREE = { lockUntil: `'1970-01-01 00:00:00'`, lockedAt: `'1970-01-01 00:00:00'`, lockedBy: `'-'` }

export function createTable(dialect: Dialect, { names }: TableSql): string[] {
  const { create } = tableDefinition(dialect, names)
  const { createSchema } = dialect.ddl
  if (names.schema === undefined || !createSchema) return [create]
  return [createSchema(dialect.quote(names.schema)), create]
}

export function addColumn(dialect: Dialect, table: TableSql, column: LockColumn): string[] {
  if (column === 'name') return []
  const [name, added, type] = [render(table.table), render(table[column]), columnType(dialect, column)]
  if (dialect.ddl.addColumn) return [dialect.ddl.addColumn(name, added, type, FREE[column])]
  return [`alter table ${name} add ${added} ${type} default ${FREE[column]} not null`]
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
): readonly string[] {
  const { alterColumn, alterKey } = dialect.ddl
  if (column === 'name' && alterKey) {
    const primaryKey = dialect.quote(`${table.names.tableName}_pkey`)
    const names = { primaryKey, index: indexName(dialect, table) }
    return alterKey(render(table.table), render(table.name), columnType(dialect, column), names)
  }
  if (!alterColumn) return makeAnew(dialect, table)
  const { timeZone } = dialect.inspection ?? {}
  return [
    ...(zone !== undefined && timeZone?.types.test(now.type) ? [timeZone.set(zone)] : []),
    alterColumn(render(table.table), render(table[column]), columnType(dialect, column), now),
  ]
}

/** Creates a unique index, because the table may already have another primary key. */
export function addKey(dialect: Dialect, table: TableSql): string[] {
  return [
    `create unique index ${indexName(dialect, table)} on ${render(table.table)} (${render(table.name)})`,
  ]
}

function indexName(dialect: Dialect, table: TableSql): string {
  return dialect.quote(nameWith('_name', dialect, table))
}

/** Replaces the table with a copy, for a database that cannot alter columns: SQLite. */
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
