import type { Dialect } from '../../src/sql/dialect'
import type { LockTableOptions } from '../../src/sql/names'
import { parameter, type Sql } from '../../src/sql/sql'

/** The statements that read what a table is. */
export function tableReads({ table }: Dialect, { schema }: LockTableOptions = {}): Record<string, Sql> {
  const { defaultSchema = parameter('schema'), describe, lockedByOthers } = table
  return {
    ...(describe && {
      describe: describe(schema === undefined ? defaultSchema : parameter('schema'), parameter('table')),
    }),
    ...(lockedByOthers && { lockedByOthers: lockedByOthers(parameter('schema'), parameter('table')) }),
  }
}
