import type { Dialect } from '../../src/sql/dialect'
import type { Sql } from '../../src/sql/sql'

/** The statements that read what a table is. */
export function tableReads({ table: { describe, lockedByOthers } }: Dialect): Record<string, Sql> {
  return { ...(describe && { describe }), ...(lockedByOthers && { lockedByOthers }) }
}
