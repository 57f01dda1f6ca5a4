import type { Dialect } from '../../src/sql/dialects'
import { tableSql, type LockTableOptions } from '../../src/sql/names'
import { parameter, type Sql } from '../../src/sql/sql'
import { tableFindings } from '../../src/sql/table/check'

/** The SQL for all that can be wrong with the columns and the key of a table, each statement once. */
export function tableFixes(dialect: Dialect, options: LockTableOptions = {}): string[] {
  const table = tableSql(dialect, options)
  const { name, ...others } = table.names.columnNames
  const wrong = { column_type: 'wrong', max_length: 1, nullable: 1, unique_keys: 0 }
  const tables = [
    [],
    [{ column_name: name, column_type: 'wrong' }],
    [name, ...Object.values(others)].map((column_name) => ({ column_name, ...wrong })),
  ]
  return [...new Set(tables.flatMap((rows) => tableFindings(dialect, table, rows).flatMap(({ fix }) => fix)))]
}

/** The statements that read what a table is. */
export function tableReads({ table }: Dialect, { schema }: LockTableOptions = {}): Record<string, Sql> {
  const { defaultSchema = parameter('schema'), describe, schemasOf, lockedByOthers } = table
  return {
    describe: describe(schema === undefined ? defaultSchema : parameter('schema'), parameter('table')),
    ...(schemasOf && { schemasOf: schemasOf(parameter('table')) }),
    ...(lockedByOthers && { lockedByOthers: lockedByOthers(parameter('schema'), parameter('table')) }),
  }
}
